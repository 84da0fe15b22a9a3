//! Identifies the other end of a connection.

use std::net::IpAddr;
use tokio::net::{TcpStream, UnixStream};

/// The unit in which connections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// An address; all loopback addresses count as one, and so does an IPv6 network of 64 bits.
    Address(IpAddr),
    /// A process on this machine.
    Process(Option<i32>),
}

/// A stream that knows its peer.
pub trait Peered {
    /// The other end.
    fn peer(&self) -> Peer;
}

impl Peered for TcpStream {
    fn peer(&self) -> Peer {
        // A peer that has disconnected already is counted under this address.
        let gone = IpAddr::from([0, 0, 0, 0]);
        Peer::Address(self.peer_addr().map_or(gone, |address| network(address.ip())))
    }
}

impl Peered for UnixStream {
    fn peer(&self) -> Peer {
        // The process and not the user: only one user can open the socket, and one runaway agent
        // must not use up the places of the others.
        Peer::Process(self.peer_cred().ok().and_then(|peer| peer.pid()))
    }
}

/// The range from which one peer can choose its address: a single IPv6 host owns a whole /64.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address if address.is_loopback() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address => address,
    }
}
