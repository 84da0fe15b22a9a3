//! Who is at the other end of a connection.

use std::net::IpAddr;
use tokio::net::{TcpStream, UnixStream};

/// Whose connections count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// An address; all loopback addresses are one, and so is an IPv6 network of 64 bits.
    Address(IpAddr),
    /// A process on this machine.
    Process(Option<i32>),
}

/// A stream that knows its peer.
pub(crate) trait Peered {
    /// Who is at the other end.
    fn peer(&self) -> Peer;
}

impl Peered for TcpStream {
    fn peer(&self) -> Peer {
        // A peer that is gone already counts with those of nowhere.
        let gone = IpAddr::from([0, 0, 0, 0]);
        Peer::Address(self.peer_addr().map_or(gone, |address| network(address.ip())))
    }
}

impl Peered for UnixStream {
    fn peer(&self) -> Peer {
        Peer::Process(self.peer_cred().ok().and_then(|peer| peer.pid()))
    }
}

/// What one peer can choose its address from.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address if address.is_loopback() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address => address,
    }
}
