//! What no rule, mode, grant or button can lift.

use crate::rules::Rules;

/// The bridge's own files, program and addresses, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Floors {
    /// Files and directories that agents must not touch: config, rules, store, socket, tokens.
    pub protected_paths: Vec<String>,
    /// Programs whose answering commands agents must not run.
    pub protected_names: Vec<&'static str>,
    /// Addresses of the daemon (`127.0.0.1:7117`, a socket's path).
    pub protected_addresses: Vec<String>,
    /// Rules of the operator whose denies hold whatever else is allowed.
    pub denies: Rules,
}

impl Floors {
    /// Floors for a bridge with these files, program names and addresses.
    pub fn new(
        paths: impl IntoIterator<Item = String>,
        names: impl IntoIterator<Item = &'static str>,
        addresses: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            protected_paths: paths.into_iter().collect(),
            protected_names: names.into_iter().collect(),
            protected_addresses: addresses.into_iter().collect(),
            denies: Rules::default(),
        }
    }
}
