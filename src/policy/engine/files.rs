//! File tools: writes that always need a person, and the limits of an allow for every path.

use crate::engine::critical::CriticalMatch;
use crate::engine::stack::Hit;
use crate::facts::paths::{self, Directories};
use crate::facts::tools::Kind;
use crate::facts::values::Values;
use crate::facts::{obeyed, shorten};
use crate::rules::verdict::Verdict;

/// Detects writes where the system or a shell would obey them, as for shell commands.
pub fn critical(
    kind: Kind,
    values: &Values,
    resolved: &[String],
    dirs: Directories<'_>,
) -> Option<CriticalMatch> {
    if !matches!(kind, Kind::Write | Kind::Edit) {
        return None;
    }
    let (seen, beyond) = values.in_view();
    if !beyond.is_empty() {
        // FAIL-CLOSED: one of the files that nobody has looked at may be such a file.
        let reason = "names more files than can be checked";
        return Some(CriticalMatch { reason: reason.into(), span: 0..0 });
    }
    let named = seen.iter().filter(|value| value.is_path).flat_map(|value| value.readings(dirs));
    named.chain(resolved.iter().map(|path| path.into())).find_map(|path| {
        let path = &*path;
        // `paths::system` knows no workspace: one in `/srv` is not part of the system.
        let reason = if paths::startup(path, dirs) {
            "writes a file that shells or services run when they start"
        } else if paths::system(&paths::clean(path, dirs)) && paths::outside(path, dirs) {
            "writes a system file"
        } else {
            return None;
        };
        Some(CriticalMatch { reason: reason.into(), span: 0..0 })
    })
}

/// Says why an allow of the tool for every path (`write_file: {"*": "allow"}`) does not cover
/// this path. A rule that names the path covers it, and so does an allow for every tool. No
/// wildcard covers files that others run or obey.
pub(crate) fn beyond_every_path(
    kind: Kind,
    hit: &Hit<'_>,
    path: &str,
    dirs: Directories<'_>,
) -> Option<String> {
    let changes = matches!(kind, Kind::Write | Kind::Edit);
    if changes && hit.verdict == Verdict::Allow && hit.leaves_to_a_person(path, dirs) {
        return Some(obeyed::sentence(path));
    }
    let names_the_tool = hit.entry.is_some_and(|entry| entry.rule.tool != "*");
    if !(hit.allows_all() && names_the_tool && dirs.cwd.is_some()) {
        return None;
    }
    let outside = paths::outside(path, dirs) && !paths::sink(path);
    let secret = match kind {
        Kind::Write | Kind::Edit if outside => "",
        Kind::Read if outside && paths::secret(path, dirs) => ", may hold secrets",
        _ => return None,
    };
    Some(["Outside the project folder", secret, ": ", &shorten(path, 80), "."].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use serde_json::json;

    use crate::{Call, Guardrail, Layers, Mode, Rules, Verdict, decide};

    fn ruled(rules: &str, tool: &str, path: &str, cwd: Option<&str>) -> (Verdict, bool) {
        let rules = Rules::parse(rules, "rules", Some("/home/u")).unwrap();
        let layers = Layers {
            agent: None,
            rules: &rules,
            grants: &Rules::default(),
            guardrail: &Guardrail::default(),
            now_ms: 0,
        };
        let call = Call {
            cwd: cwd.map(str::to_owned),
            home: Some("/home/u".to_owned()),
            ..Call::new(tool, json!({ "file_path": path }))
        };
        let decision = decide(&call, &layers, Mode::Default);
        (decision.verdict, decision.critical)
    }

    const CWD: Option<&str> = Some("/home/u/w");

    #[test]
    fn an_allow_for_every_path_covers_files_of_the_workspace_and_no_others() {
        let rules = r#"{"*": "ask", "write_file": "allow", "edit_file": "allow"}"#;
        for path in ["src/a.rs", "/home/u/w/b", "./c/../d"] {
            assert_eq!(ruled(rules, "Write", path, CWD), (Verdict::Allow, false), "{path}");
        }
        let asked = (Verdict::Ask, false);
        for path in ["../x", "/home/u/other/x", "~/notes", "/tmp/x", "/var/tmp/x"] {
            assert_eq!(ruled(rules, "Edit", path, CWD), asked, "{path}");
        }
    }

    #[test]
    fn no_wildcard_covers_what_others_run_or_obey_and_a_rule_that_names_it_does() {
        let asked = (Verdict::Ask, false);
        for path in [
            "package.json",
            ".github/workflows/ci.yml",
            "Makefile",
            ".git/hooks/x",
            "web/.envrc",
            "CLAUDE.md",
        ] {
            for rules in [
                r#"{"*": "allow"}"#.to_owned(),
                r#"{"write_file": "allow"}"#.to_owned(),
                r#"{"write_file": {"**/*": "allow", ".github/**": "allow", "*.json": "allow"}}"#
                    .to_owned(),
                r#"{"Write(/**)": "allow"}"#.to_owned(),
            ] {
                assert_eq!(ruled(&rules, "Write", path, CWD), asked, "{rules}: {path}");
            }
            let named = format!(r#"{{"write_file": {{"{path}": "allow"}}}}"#);
            assert_eq!(ruled(&named, "Write", path, CWD), (Verdict::Allow, false), "{path}");
        }
    }

    #[test]
    fn system_and_start_up_files_always_want_a_person() {
        let critical = (Verdict::Ask, true);
        for path in ["/etc/passwd", "/home/u/.bashrc", "~/.ssh/authorized_keys", "../.zshrc"] {
            assert_eq!(ruled(r#"{"*": "allow"}"#, "Write", path, CWD), critical, "{path}");
        }
        let srv = ruled(r#"{"*": "allow"}"#, "Write", "/srv/app/a", Some("/srv/app"));
        assert_eq!(srv, (Verdict::Allow, false), "a workspace is no part of the system");
    }

    #[test]
    fn a_rule_that_names_the_place_covers_it() {
        let rules = r#"{"write_file": {"*": "ask", "/home/u/other/*": "allow"}}"#;
        assert_eq!(ruled(rules, "Write", "/home/u/other/x", CWD), (Verdict::Allow, false));
        let all = r#"{"*": "allow"}"#;
        assert_eq!(ruled(all, "Write", "/home/u/other/x", CWD), (Verdict::Allow, false));
    }
}
