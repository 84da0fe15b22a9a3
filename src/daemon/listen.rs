//! The daemon's listeners, its own or those of a service manager, and the inbox's address.

use crate::config::{DaemonSettings, PublicUrl};
use anyhow::{Context, Result, anyhow, bail};
use countersign_tokens::{file, ids, secret::Secret};
use listenfd::ListenFd;
use std::{
    fs, io,
    net::{self, SocketAddr},
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net as unix_net,
    },
    path::{Path, PathBuf},
};
use tokio::net::{TcpListener, UnixListener, UnixStream};

/// Binds the HTTP listener.
///
/// # Errors
/// A sentence that names the address and the fix.
async fn tcp(address: SocketAddr) -> Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => bail!(
            "{address} is in use, maybe by another countersign; stop that one, or set [daemon] \
             listen to another address"
        ),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {address}")),
    }
}

/// Binds the unix socket, which only this user can open. Replaces the socket of a daemon that died.
///
/// # Errors
/// A sentence that names the socket and the fix.
async fn unix(path: &Path) -> Result<UnixListener> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    // Only a connect shows whether a daemon listens: its file stays after a crash.
    if UnixStream::connect(path).await.is_ok() {
        bail!(
            "the socket {} is in use: a countersign is running; stop that one, or set [daemon] \
             socket to another path",
            path.display()
        );
    }
    match fs::symlink_metadata(path) {
        Ok(found) if is_socket(&found) => {
            fs::remove_file(path).with_context(|| format!("cannot replace {}", path.display()))?;
        }
        Ok(_) => {
            bail!("{} exists and is not a socket; set [daemon] socket elsewhere", path.display())
        }
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)
        .with_context(|| format!("cannot listen on the socket {}", path.display()))?;
    // `bind` creates the socket with the umask's mode.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("cannot close {} to others", path.display()))?;
    Ok(listener)
}

/// The inbox's address, and its access token, which is new at every start before which somebody else
/// may have had the port.
pub(super) struct InboxAddress {
    pub(super) address: SocketAddr,
    pub(super) token: Secret,
    /// Where sign-ins are kept, where the port stays taken while the daemon is down.
    pub(super) sign_ins: Option<PathBuf>,
    public: Option<PublicUrl>,
}

impl InboxAddress {
    /// Creates the access token of this start, and writes it where `countersign inbox` finds it. Where
    /// a service manager has held this very socket since the token was made, it stays, and so do open
    /// pages and sign-ins.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    // SECURITY: a page may have sent its token to another program that answered on the port while
    // the daemon was stopped. That token is from an earlier start and is useless.
    pub(super) fn new(daemon: &DaemonSettings, tcp: &Bound<TcpListener>) -> Result<Self> {
        let state = &daemon.state_dir;
        let file = token_file(state);
        let held_file = state.join("inbox.socket");
        let sign_ins = state.join("inbox.sign-ins");
        let held = tcp.is_passed.then(|| identity(&tcp.listener)).flatten();
        let kept = held.as_ref().and_then(|held| kept_token(&file, &held_file, held));
        let token = kept.clone().unwrap_or_else(ids::token);
        if kept.is_none() {
            remove(&sign_ins)?;
            write(&file, &token)?;
            write(&held_file, held.as_deref().unwrap_or_default())?;
        }
        Ok(Self {
            address: tcp.listener.local_addr().context("the HTTP listener has no address")?,
            token: Secret::new(token),
            sign_ins: held.map(|_| sign_ins),
            public: daemon.public_url.clone(),
        })
    }

    /// The page's URL with its access token.
    pub(super) fn url(&self) -> String {
        format!("{}/?token={}", self.base(), self.token.reveal())
    }

    /// The page's URL without its token.
    pub(super) fn base(&self) -> String {
        address_of(self.public.as_ref(), self.address)
    }
}

/// The token of an earlier start, if this socket was the daemon's already.
fn kept_token(file: &Path, held_file: &Path, held: &str) -> Option<String> {
    let same = fs::read_to_string(held_file).is_ok_and(|before| before == held);
    let token = same.then(|| fs::read_to_string(file).ok()).flatten()?;
    Some(token).filter(|token| !token.is_empty())
}

/// Which socket a listener is, of all that this machine has since it runs.
// SECURITY: the kernel gives no two sockets the same number, so nobody else has listened at the port
// between two starts that were handed the same one.
#[cfg(target_os = "linux")]
fn identity(tcp: &TcpListener) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let network = fs::read_link("/proc/self/ns/net").ok()?;
    let cookie = rustix::net::sockopt::socket_cookie(tcp).ok()?;
    Some(format!("{} {} {cookie}", boot.trim(), network.display()))
}

#[cfg(not(target_os = "linux"))]
fn identity(_: &TcpListener) -> Option<String> {
    None
}

fn write(file: &Path, text: &str) -> Result<()> {
    file::replace(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn remove(file: &Path) -> Result<()> {
    file::remove(file).with_context(|| format!("cannot remove {}", file.display()))
}

/// The page's URL without its token, as these settings make it.
pub(super) fn base(daemon: &DaemonSettings) -> String {
    address_of(daemon.public_url.as_ref(), daemon.listen)
}

fn address_of(public: Option<&PublicUrl>, listen: SocketAddr) -> String {
    if let Some(public) = public {
        return public.origin.clone();
    }
    let host = match listen.ip() {
        ip if ip.is_unspecified() => format!("127.0.0.1:{}", listen.port()),
        _ => listen.to_string(),
    };
    format!("http://{host}")
}

/// The path of the inbox's access token, readable only with access to the state folder.
pub(crate) fn token_file(state: &Path) -> PathBuf {
    state.join("inbox.token")
}

fn is_socket(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

/// Creates a folder that only this user can enter, unless it exists.
fn private_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot make the folder {}", path.display()))
}

/// A listener.
pub(super) struct Bound<L> {
    pub(super) listener: L,
    /// The service manager passed it on, and keeps it for the next start.
    pub(super) is_passed: bool,
}

/// The listeners that `countersign.socket` passed on, if any.
#[derive(Debug, Default)]
pub struct Inherited {
    tcp: Option<net::TcpListener>,
    unix: Option<unix_net::UnixListener>,
}

impl Inherited {
    /// Takes the listeners that were passed on. They can be taken only once.
    ///
    /// # Errors
    /// When a listener was passed on that the daemon does not serve.
    pub fn take() -> Result<Self> {
        let mut passed = ListenFd::from_env();
        let mut taken = Self::default();
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

    /// The listener for this address: the one passed on, or a new one.
    ///
    /// # Errors
    /// When the one passed on has another address, or none can be bound.
    pub(super) async fn tcp_or_bind(&mut self, wanted: SocketAddr) -> Result<Bound<TcpListener>> {
        Ok(match self.tcp(wanted)? {
            Some(listener) => Bound { listener, is_passed: true },
            None => Bound { listener: tcp(wanted).await?, is_passed: false },
        })
    }

    /// The same for the unix socket.
    ///
    /// # Errors
    /// When the one passed on has another path, or none can be bound.
    pub(super) async fn unix_or_bind(&mut self, wanted: &Path) -> Result<Bound<UnixListener>> {
        Ok(match self.unix(wanted)? {
            Some(listener) => Bound { listener, is_passed: true },
            None => Bound { listener: unix(wanted).await?, is_passed: false },
        })
    }

    fn tcp(&mut self, wanted: SocketAddr) -> Result<Option<TcpListener>> {
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
        Ok(Some(TcpListener::from_std(tcp)?))
    }

    fn unix(&mut self, wanted: &Path) -> Result<Option<UnixListener>> {
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
        Ok(Some(UnixListener::from_std(unix)?))
    }
}
