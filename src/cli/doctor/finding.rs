//! The result of one check.

use super::fix::Repair;
use crate::cli::say::{Colour, paint};
use countersign_port::visible;
use serde::Serialize;

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DoctorCheck {
    pub(super) check: String,
    pub(super) state: CheckState,
    pub(super) says: String,
    /// The command or edit that fixes it.
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
    /// The same as something that `--fix` does.
    #[serde(skip)]
    pub(super) repair: Option<Repair>,
}

impl DoctorCheck {
    /// The same result, which `--fix` can fix.
    pub(super) fn repaired_by(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckState {
    Ok,
    Warn,
    Fail,
}

pub(super) fn ok(check: &str, says: impl Into<String>) -> DoctorCheck {
    DoctorCheck {
        check: check.into(),
        state: CheckState::Ok,
        says: says.into(),
        fix: None,
        repair: None,
    }
}

pub(super) fn warn(check: &str, says: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
    let fix = Some(fix.into());
    DoctorCheck {
        check: check.into(),
        state: CheckState::Warn,
        says: says.into(),
        fix,
        repair: None,
    }
}

pub(super) fn fail(check: &str, says: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
    let fix = Some(fix.into());
    DoctorCheck {
        check: check.into(),
        state: CheckState::Fail,
        says: says.into(),
        fix,
        repair: None,
    }
}

/// The result as a line, with its fix on a second one.
pub(super) fn show(finding: &DoctorCheck) -> String {
    let (word, colour) = match finding.state {
        CheckState::Ok => ("ok  ", Colour::Green),
        CheckState::Warn => ("warn", Colour::Yellow),
        CheckState::Fail => ("fail", Colour::Red),
    };
    let line = format!("{} {:<12} {}", paint(colour, word), finding.check, visible(&finding.says));
    match &finding.fix {
        Some(fix) => format!("{line}\n{:18}fix: {fix}", ""),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_it_is_and_what_fixes_it() {
        assert_eq!(show(&ok("store", "can be written")), "ok   store        can be written");
        assert_eq!(
            show(&fail("files", "/c may be read by others", "chmod 600 /c")),
            "fail files        /c may be read by others\n                  fix: chmod 600 /c"
        );
    }
}
