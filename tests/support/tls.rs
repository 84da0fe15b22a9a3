//! A proxy with TLS, for the host `approve.example` and for 127.0.0.1. Its certificate is of a
//! certificate authority of the tests, whose key exists no more.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a stand-in fails by panicking, and no test uses all of it"
)]

use base64::{Engine, engine::general_purpose::STANDARD};
use std::{net::SocketAddr, path::PathBuf, sync::Arc};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
};

/// The hash of the certificate's key, by which a browser is told to take it.
pub const KEY_HASH: &str = "Hssxdyo/UFtSz0DnIWHXvjEV2dkcSchSa0spKOvEV6Q=";

/// The file of the certificate authority.
pub fn authority() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/support/tls/ca.pem")
}

/// Serves TLS in front of this address; returns where.
pub async fn in_front_of(upstream: SocketAddr) -> SocketAddr {
    let bytes = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('-'));
        STANDARD.decode(lines.collect::<String>()).unwrap()
    };
    let certificate = CertificateDer::from(bytes(include_str!("tls/cert.pem")));
    let key = PrivateKeyDer::try_from(bytes(include_str!("tls/key.txt"))).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust it leaves in the middle.
                let Ok(mut from) = acceptor.accept(stream).await else { return };
                let Ok(mut to) = TcpStream::connect(upstream).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            });
        }
    });
    at
}
