//! How much the daemon takes at once, so that a flood ends in a plain refusal.

use super::node::Node;
use super::section::{Section, number};
use crate::connections;

/// The limits of a daemon. The defaults fit into the 512 MiB that the service units allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the address, and as many at the socket.
    pub connections: connections::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        // On most machines all agents are one peer: loopback, or a reverse proxy.
        Self { connections: connections::Limits { connections: 1000, per_peer: 750 } }
    }
}

/// Reads the section.
pub(super) fn read(mut section: Section<'_>) -> Limits {
    let usual = Limits::default();
    let connections = connections::Limits {
        connections: section.get("connections", count).unwrap_or(usual.connections.connections),
        per_peer: section.get("connections_per_peer", count).unwrap_or(usual.connections.per_peer),
    };
    section.finish();
    Limits { connections }
}

fn count(node: &Node) -> Result<usize, String> {
    match usize::try_from(number(node)?) {
        Ok(count) if (1..=1_000_000_000).contains(&count) => Ok(count),
        _ => Err("wants a whole number from 1 on".to_owned()),
    }
}
