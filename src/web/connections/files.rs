//! Adapts the limits on connections to the limit on open files, of which each connection is one.

use super::ConnectionLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The open files that are no connections: the store, chats, rules files.
const OTHERS: u64 = 200;

/// Raises the limit on open files for two listeners with these limits. Returns lower limits if the
/// system allows fewer: connections must not take the files that the store and the chats need.
pub fn as_far_as_files_reach(wanted: ConnectionLimits) -> ConnectionLimits {
    let needed = u64::try_from(wanted.connections).unwrap_or(u64::MAX / 4) * 2 + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means no limit.
    let (now, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if now >= needed {
        return wanted;
    }
    let more = Rlimit { current: Some(needed.min(most)), maximum };
    let now = if setrlimit(Resource::Nofile, more).is_ok() { needed.min(most) } else { now };
    let fit = fitting(wanted, now);
    if fit != wanted {
        tracing::warn!(
            wanted.connections,
            fit.connections,
            files = now,
            "this process may not open enough files for [limits] connections; raise its limit \
             (LimitNOFILE in systemd, ulimit -Hn in a shell)"
        );
    }
    fit
}

fn fitting(wanted: ConnectionLimits, files: u64) -> ConnectionLimits {
    let room = usize::try_from(files.saturating_sub(OTHERS) / 2).unwrap_or(usize::MAX).max(8);
    ConnectionLimits {
        connections: wanted.connections.min(room),
        per_peer: wanted.per_peer.min(room),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_to_the_store_and_the_chats() {
        let wanted = ConnectionLimits { connections: 1000, per_peer: 750 };
        assert_eq!(fitting(wanted, 2200), wanted);
        assert_eq!(fitting(wanted, 1024), ConnectionLimits { connections: 412, per_peer: 412 });
        assert_eq!(fitting(wanted, 64), ConnectionLimits { connections: 8, per_peer: 8 });
    }
}
