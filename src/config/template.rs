//! The default config that `countersign init` writes.

use crate::platforms::Registered;
use std::fmt::Write;

/// The part for every program.
const BASE: &str = include_str!("../../config/countersign.toml");
/// The line that the platforms' sections replace.
const CHATS: &str = "# (the chats)\n";
/// The line that their lists of approvers replace.
const APPROVERS: &str = "# (the approvers in chats)\n";

/// The default config of a program with these platforms.
#[must_use]
pub fn template(platforms: &[Registered]) -> String {
    let (mut sections, mut lists) = (String::new(), String::new());
    for platform in platforms.iter().filter_map(|it| it.platform) {
        let about = platform.description();
        let _ = writeln!(sections, "{}", about.example);
        for list in about.approvers {
            let _ = writeln!(lists, "# {} = {}", list.key, list.example);
        }
    }
    let sections = sections.strip_suffix('\n').unwrap_or_default();
    BASE.replace(CHATS, sections).replace(APPROVERS, &lists)
}
