//! A connection between a daemon and the database that can silently lose data.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and each uses only a part"
)]

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// A proxy to the database; it ends when this is dropped.
pub struct Line {
    /// The database's URL through this proxy.
    pub url: String,
    loses: watch::Sender<Loses>,
    running: JoinHandle<()>,
}

/// The direction that loses its data. A connection that lost data stays silent for good, as behind
/// a firewall that has forgotten it. The database sees it end once nothing is lost any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loses {
    Nothing,
    /// Data from the database.
    Answers,
    Everything,
}

impl Line {
    /// Starts a proxy to the database at this URL.
    pub async fn to(database: &str) -> Self {
        let mut url = url::Url::parse(database).unwrap();
        let to = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let loses = watch::Sender::new(Loses::Nothing);
        let running = tokio::spawn(carry(listener, to, loses.subscribe()));
        Self { url: url.to_string(), loses, running }
    }

    /// Sets what is lost from now on.
    pub fn loses(&self, what: Loses) {
        self.loses.send_replace(what);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn carry(listener: TcpListener, to: (String, u16), loses: watch::Receiver<Loses>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        connections.spawn(join(near, to.clone(), loses.clone()));
    }
}

async fn join(mut near: TcpStream, to: (String, u16), mut loses: watch::Receiver<Loses>) {
    // A connection that is opened while data is lost waits without a response.
    becomes(&mut loses, |loses| loses == Loses::Nothing).await;
    let Ok(mut far) = TcpStream::connect(to).await else { return };
    let (near_says, near_hears) = near.split();
    let (far_says, far_hears) = far.split();
    tokio::select! {
        () = pass(near_says, far_hears, loses.clone(), |loses| loses == Loses::Everything) => return,
        () = pass(far_says, near_hears, loses.clone(), |loses| loses != Loses::Nothing) => return,
        () = async {
            becomes(&mut loses, |loses| loses != Loses::Nothing).await;
            becomes(&mut loses, |loses| loses == Loses::Nothing).await;
        } => {}
    }
    drop(far);
    // The near end stays open and silent, as behind a firewall that has forgotten the connection.
    std::future::pending().await
}

/// Copies data until the end; after the first loss, nothing more.
async fn pass(
    mut says: impl AsyncRead + Unpin,
    mut hears: impl AsyncWrite + Unpin,
    mut loses: watch::Receiver<Loses>,
    lost: impl Fn(Loses) -> bool,
) {
    let mut words = vec![0; 16 * 1024];
    let broken = loop {
        tokio::select! {
            // The loss first, so that nothing is copied after it.
            biased;
            () = becomes(&mut loses, &lost) => break true,
            read = says.read(&mut words) => match read {
                Ok(0) | Err(_) => break false,
                Ok(read) => if hears.write_all(&words[..read]).await.is_err() { break false },
            },
        }
    };
    if broken {
        std::future::pending().await
    }
}

async fn becomes(loses: &mut watch::Receiver<Loses>, wanted: impl Fn(Loses) -> bool) {
    // If the sender is gone, the state no longer changes.
    let _ = loses.wait_for(|loses| wanted(*loses)).await;
}
