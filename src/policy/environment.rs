//! Which variables a command may be given without becoming another command.

/// True when setting `name` cannot change which program runs, nor make it run another.
/// `command` is the name of the command it is set for; `None` for a bare assignment.
#[must_use]
pub fn harmless(_name: &str, _command: Option<&str>) -> bool {
    false
}
