//! Listeners that a service manager holds (socket activation), so that no other program can take
//! the port or the socket while the daemon is stopped.

use anyhow::{Context, Result, anyhow, bail};
use listenfd::ListenFd;
use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
};

/// The listeners that `countersign.socket` passed on, if any.
#[derive(Debug, Default)]
pub struct Inherited {
    tcp: Option<TcpListener>,
    unix: Option<UnixListener>,
}

impl Inherited {
    /// Takes the listeners that were passed on. They can be taken only once.
    ///
    /// # Errors
    /// When a listener was passed on that the daemon does not serve.
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

    /// The listener for this address, if one was passed on.
    ///
    /// # Errors
    /// When the one passed on has another address.
    pub(super) fn tcp(&mut self, wanted: SocketAddr) -> Result<Option<tokio::net::TcpListener>> {
        let Some(tcp) = self.tcp.take() else { return Ok(None) };
        let address = tcp.local_addr().context("the passed listener has no address")?;
        // FAIL-CLOSED: clients and the guardrail use the address in the config.
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

    /// The listener at this path, if one was passed on.
    ///
    /// # Errors
    /// When the one passed on has another path.
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
        // SECURITY: a user who can open the socket has an agent's handle without a token.
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
