//! A line between one daemon and the database, which can be cut.

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A line; it ends when this is dropped.
pub struct Line {
    /// The database's address over this line.
    pub url: String,
    cut: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl Line {
    /// A line to the database at this address.
    pub async fn to(database: &str) -> Self {
        let mut url = reqwest::Url::parse(database).unwrap();
        let to = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let cut = watch::Sender::new(false);
        let running = tokio::spawn(carry(listener, to, cut.subscribe()));
        Self { url: url.to_string(), cut, running }
    }

    /// Nothing goes through any more, and nobody is told; or it all does again.
    pub fn cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn carry(listener: TcpListener, to: (String, u16), cut: watch::Receiver<bool>) {
    loop {
        let Ok((mut near, _)) = listener.accept().await else { continue };
        let (to, mut cut) = (to.clone(), cut.clone());
        tokio::spawn(async move {
            // Whoever dials while it is cut waits for an answer that does not come.
            until(&mut cut, false).await;
            let Ok(mut far) = TcpStream::connect(to).await else { return };
            tokio::select! {
                _ = copy_bidirectional(&mut near, &mut far) => return,
                () = until(&mut cut, true) => {}
            }
            // The server sees the end; this side hears nothing until the line is whole again.
            drop(far);
            until(&mut cut, false).await;
        });
    }
}

async fn until(cut: &mut watch::Receiver<bool>, wanted: bool) {
    // A line that nobody holds any more stays as it is.
    let _ = cut.wait_for(|cut| *cut == wanted).await;
}
