//! A line between a daemon and the database that loses what it should carry, and tells nobody.
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

/// A line; it ends when this is dropped.
pub struct Line {
    /// The database's address over this line.
    pub url: String,
    loses: watch::Sender<Loses>,
    running: JoinHandle<()>,
}

/// What does not arrive. A connection that lost something hears nothing for good, as behind a
/// firewall that has forgotten it; the database sees its end when the line is whole again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loses {
    Nothing,
    /// What the database says.
    Answers,
    Everything,
}

impl Line {
    /// A line to the database at this address.
    pub async fn to(database: &str) -> Self {
        let mut url = reqwest::Url::parse(database).unwrap();
        let to = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let loses = watch::Sender::new(Loses::Nothing);
        let running = tokio::spawn(carry(listener, to, loses.subscribe()));
        Self { url: url.to_string(), loses, running }
    }

    /// From now on.
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
    // Whoever dials while it is cut waits for an answer that does not come.
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
    std::future::pending().await
}

/// Passes on what is said until its end; after the first loss nothing more.
async fn pass(
    mut says: impl AsyncRead + Unpin,
    mut hears: impl AsyncWrite + Unpin,
    mut loses: watch::Receiver<Loses>,
    lost: impl Fn(Loses) -> bool,
) {
    let mut words = vec![0; 16 * 1024];
    let broken = loop {
        tokio::select! {
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
    // A line that nobody holds any more stays as it is.
    let _ = loses.wait_for(|loses| wanted(*loses)).await;
}
