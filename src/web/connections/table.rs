//! The open connections, and which of them is closed when there are too many.

use super::peer::Peer;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// The largest number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In total.
    pub connections: usize,
    /// For one address, or for one process at the socket.
    pub per_peer: usize,
}

/// The connections of one listener.
#[derive(Debug)]
pub(super) struct Table {
    limits: ConnectionLimits,
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    next: u64,
    /// By number, so that the oldest comes first.
    seats: BTreeMap<u64, SeatState>,
}

#[derive(Debug)]
struct SeatState {
    peer: Peer,
    proven: bool,
    /// The number of its requests in progress.
    under_way: usize,
    make_way: CancellationToken,
}

/// A connection's place in the table, freed when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    connection: Arc<Connection>,
    make_way: CancellationToken,
}

/// The connection of a request.
#[derive(Debug)]
pub struct Connection {
    table: Arc<Table>,
    number: u64,
}

/// A request in progress, until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay(Option<Arc<Connection>>);

impl Table {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Takes a place for a new connection; `None` if none can be freed.
    pub(super) fn seat(self: &Arc<Self>, peer: Peer) -> Option<Seat> {
        let mut state = self.lock();
        // A peer with its full share closes one of its own connections, so that it cannot displace
        // others.
        if state.of(peer) >= self.limits.per_peer {
            state.make_way(|taken| taken.peer == peer)?;
        } else if state.seats.len() >= self.limits.connections {
            state.make_way(|_| true)?;
        }
        let (number, make_way) = (state.next, CancellationToken::new());
        state.next += 1;
        let taken = SeatState { peer, proven: false, under_way: 0, make_way: make_way.clone() };
        state.seats.insert(number, taken);
        drop(state);
        let connection = Arc::new(Connection { table: self.clone(), number });
        Some(Seat { connection, make_way })
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut SeatState)) {
        // The connection may have lost its place to another already.
        if let Some(taken) = self.lock().seats.get_mut(&number) {
            change(taken);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        // Nothing done under the lock can panic in its middle, so the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableState {
    fn of(&self, peer: Peer) -> usize {
        self.seats.values().filter(|taken| taken.peer == peer).count()
    }

    /// Closes one of these connections, if one may be closed.
    // SECURITY: a connection without a token never displaces a request of one with a token.
    fn make_way(&mut self, among: impl Fn(&SeatState) -> bool) -> Option<()> {
        let first = |may: &dyn Fn(&SeatState) -> bool| {
            let mut seats = self.seats.iter();
            seats.find(|(_, taken)| among(taken) && may(taken)).map(|(number, _)| *number)
        };
        let unproven = first(&|taken| !taken.proven);
        let leaves = unproven.or_else(|| first(&|taken| taken.under_way == 0))?;
        self.seats.remove(&leaves)?.make_way.cancel();
        Some(())
    }
}

impl Seat {
    /// The connection, for its requests.
    pub(super) fn connection(&self) -> Arc<Connection> {
        self.connection.clone()
    }

    /// Cancelled when the connection has to close.
    pub(super) fn made_way(&self) -> CancellationToken {
        self.make_way.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // The place may be freed already for another connection. Numbers are never reused, so this
        // removes nothing else.
        self.connection.table.lock().seats.remove(&self.connection.number);
    }
}

impl Connection {
    /// Records that the connection has authenticated.
    pub fn mark_proven(&self) {
        self.table.change(self.number, |taken| taken.proven = true);
    }

    /// Counts a request until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.table.change(self.number, |taken| taken.under_way += 1);
        UnderWay(Some(self.clone()))
    }
}

impl UnderWay {
    /// Keeps the request in progress for good, because the connection changes its protocol.
    pub(super) fn until_it_ends(mut self) {
        self.0 = None;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            let less = |taken: &mut SeatState| taken.under_way = taken.under_way.saturating_sub(1);
            connection.table.change(connection.number, less);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::net::IpAddr;

    fn peer(last: u8) -> Peer {
        Peer::Address(IpAddr::from([10, 0, 0, last]))
    }

    fn table(connections: usize, per_peer: usize) -> Arc<Table> {
        Table::new(ConnectionLimits { connections, per_peer })
    }

    fn proven(table: &Arc<Table>, from: u8) -> Seat {
        let seat = table.seat(peer(from)).unwrap();
        seat.connection.mark_proven();
        seat
    }

    fn ended(seats: &[&Seat]) -> Vec<bool> {
        seats.iter().map(|seat| seat.make_way.is_cancelled()).collect()
    }

    #[test]
    fn the_oldest_without_a_token_makes_way_and_then_who_is_idle() {
        let table = table(3, 3);
        let (known, first, second) =
            (proven(&table, 1), table.seat(peer(2)).unwrap(), table.seat(peer(3)).unwrap());
        let third = table.seat(peer(4)).unwrap();
        assert_eq!(ended(&[&known, &first, &second, &third]), [false, true, false, false]);
        second.connection.mark_proven();
        let under_way = second.connection.begin();
        let fourth = proven(&table, 5);
        assert_eq!(ended(&[&known, &second, &third]), [false, false, true]);
        let held = fourth.connection.begin();
        let _fifth = proven(&table, 6);
        assert_eq!(ended(&[&known, &second, &fourth]), [true, false, false]);
        drop((under_way, held));
    }

    #[test]
    fn nobody_makes_way_whose_request_is_under_way_unless_it_has_shown_no_token() {
        let table = table(2, 2);
        let (one, other) = (proven(&table, 1), table.seat(peer(2)).unwrap());
        let _held = (one.connection.begin(), other.connection.begin());
        let third = proven(&table, 3);
        assert_eq!(ended(&[&one, &other]), [false, true]);
        let request = third.connection.begin();
        assert!(table.seat(peer(4)).is_none());
        drop(request);
        assert!(table.seat(peer(4)).is_some());
        assert_eq!(ended(&[&one, &third]), [false, true]);
    }

    #[test]
    fn a_peer_that_has_its_share_displaces_its_own_connections_only() {
        let table = table(10, 2);
        let (other, mine) = (table.seat(peer(1)).unwrap(), proven(&table, 2));
        let _held = mine.connection.begin();
        let (next, again) = (table.seat(peer(2)).unwrap(), table.seat(peer(2)).unwrap());
        assert_eq!(ended(&[&other, &mine, &next, &again]), [false, false, true, false]);
    }

    #[test]
    fn a_connection_that_ends_frees_its_place_also_after_it_made_way() {
        let table = table(1, 1);
        let first = table.seat(peer(1)).unwrap();
        let second = table.seat(peer(1)).unwrap();
        drop(first);
        assert_eq!(table.lock().seats.len(), 1);
        drop(second);
        assert_eq!(table.lock().seats.len(), 0);
    }
}
