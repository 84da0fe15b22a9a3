//! The limits of what the daemon accepts at once, so that a flood is refused cleanly.

use super::section::ConfigNode;
use super::section::{Section, number};
use countersign_gate as gate;
use countersign_web::connections;

/// The limits of a daemon. The defaults fit into the 512 MiB that the service units allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSettings {
    /// Connections to the address, and as many to the socket.
    pub connections: connections::ConnectionLimits,
    /// Open asks.
    pub open: gate::Limits,
}

impl Default for LimitSettings {
    fn default() -> Self {
        // On most machines all agents are one peer: loopback or a reverse proxy.
        let connections = connections::ConnectionLimits { connections: 1000, per_peer: 750 };
        Self { connections, open: gate::Limits::default() }
    }
}

/// Reads the section.
pub(super) fn read(mut section: Section<'_>) -> LimitSettings {
    let usual = LimitSettings::default();
    let connections = connections::ConnectionLimits {
        connections: section.get("connections", count).unwrap_or(usual.connections.connections),
        per_peer: section.get("connections_per_peer", count).unwrap_or(usual.connections.per_peer),
    };
    let many = |node: &ConfigNode| count(node).map(|count| count as u64);
    // `count` accepts at most 10⁹, so the shift cannot overflow.
    let megabytes = |node: &ConfigNode| many(node).map(|count| count << 20);
    let open = gate::Limits {
        asks: section.get("open_asks", many).unwrap_or(usual.open.asks),
        asks_per_agent: section
            .get("open_asks_per_agent", many)
            .unwrap_or(usual.open.asks_per_agent),
        asks_per_session: section
            .get("open_asks_per_session", many)
            .unwrap_or(usual.open.asks_per_session),
        asks_a_minute_per_agent: section
            .get("asks_per_minute_per_agent", many)
            .unwrap_or(usual.open.asks_a_minute_per_agent),
        asks_a_minute_per_session: section
            .get("asks_per_minute_per_session", many)
            .unwrap_or(usual.open.asks_a_minute_per_session),
        bytes: section.get("open_megabytes", megabytes).unwrap_or(usual.open.bytes),
        bytes_per_agent: section
            .get("open_megabytes_per_agent", megabytes)
            .unwrap_or(usual.open.bytes_per_agent),
    };
    section.finish();
    LimitSettings { connections, open }
}

fn count(node: &ConfigNode) -> Result<usize, String> {
    match usize::try_from(number(node)?) {
        Ok(count) if (1..=1_000_000_000).contains(&count) => Ok(count),
        _ => Err("must be a whole number, 1 or more".to_owned()),
    }
}
