//! Listeners that a service manager holds (socket activation), so that nobody else can take their
//! places while the daemon is down.

use anyhow::{Context, Result, anyhow, bail};
use listenfd::ListenFd;
use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
};

/// What was passed on by `countersign.socket`, or nothing.
#[derive(Debug, Default)]
pub struct Inherited {
    tcp: Option<TcpListener>,
    unix: Option<UnixListener>,
}

impl Inherited {
    /// Takes what was passed on. Only the first call finds anything.
    ///
    /// # Errors
    /// When something was passed on that the daemon does not listen on.
    pub fn take() -> Result<Self> {
        let (mut passed, mut taken) = (ListenFd::from_env(), Self::default());
        for at in 0..passed.len() {
            let kind = "the service manager passes on a socket that is neither TCP nor a unix \
             stream, or \
                        two of a kind; countersign.socket names one address and one path";
            if let Ok(Some(unix)) = passed.take_unix_listener(at) {
                if taken.unix.replace(unix).is_some() {
                    bail!(kind);
                }
            } else {
                let tcp = passed.take_tcp_listener(at).ok().flatten();
                let twice = taken.tcp.replace(tcp.ok_or_else(|| anyhow!(kind))?);
                if twice.is_some() {
                    bail!(kind);
                }
            }
        }
        Ok(taken)
    }

    /// The listener on this address, if it was passed on.
    ///
    /// # Errors
    /// When one on another address was.
    pub(super) fn tcp(&mut self, wanted: SocketAddr) -> Result<Option<tokio::net::TcpListener>> {
        let Some(tcp) = self.tcp.take() else { return Ok(None) };
        let address = tcp.local_addr().context("the passed listener has no address")?;
        // FAIL-CLOSED: clients and guardrail go by the config.
        if wanted.port() != 0 && address != wanted {
            bail!(
                "countersign.socket listens on {address}, and [daemon] listen is {wanted}; make \
                 them \
                 the same"
            );
        }
        tcp.set_nonblocking(true).context("the passed listener cannot be used")?;
        Ok(Some(tokio::net::TcpListener::from_std(tcp)?))
    }

    /// The listener at this path, if it was passed on.
    ///
    /// # Errors
    /// When one at another path was.
    pub(super) fn unix(&mut self, wanted: &Path) -> Result<Option<tokio::net::UnixListener>> {
        let Some(unix) = self.unix.take() else { return Ok(None) };
        let address = unix.local_addr().context("the passed socket has no address")?;
        let path = address.as_pathname().unwrap_or(Path::new("(without a path)"));
        if path != wanted {
            bail!(
                "countersign.socket listens on {}, and [daemon] socket is {}; make them the same",
                path.display(),
                wanted.display()
            );
        }
        let open = fs::metadata(wanted).map_or(0o777, |found| found.permissions().mode());
        // SECURITY: whoever can open the socket has an agent's handle without a token.
        if open & 0o077 != 0 {
            bail!(
                "others may open {}, which countersign.socket has made; set SocketMode=0600 there",
                wanted.display()
            );
        }
        unix.set_nonblocking(true).context("the passed socket cannot be used")?;
        Ok(Some(tokio::net::UnixListener::from_std(unix)?))
    }
}
