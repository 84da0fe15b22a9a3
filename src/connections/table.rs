//! Who is connected, and who makes way when there are too many.

use super::peer::Peer;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// How many connections are held at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In all.
    pub connections: usize,
    /// Of one address, or of one process at the socket.
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
    /// How many of its requests are under way.
    under_way: usize,
    make_way: CancellationToken,
}

/// A connection's place in the table, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    connection: Arc<Connection>,
    make_way: CancellationToken,
}

/// The connection that a request came in on.
#[derive(Debug)]
pub struct Connection {
    table: Arc<Table>,
    number: u64,
}

/// A request of a connection, until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay(Option<Arc<Connection>>);

impl Table {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// A place for a new connection; `None` where nobody can make way.
    pub(super) fn seat(self: &Arc<Self>, peer: Peer) -> Option<Seat> {
        let mut state = self.lock();
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
        if let Some(taken) = self.lock().seats.get_mut(&number) {
            change(taken);
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        // Nothing that is done under the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableState {
    fn of(&self, peer: Peer) -> usize {
        self.seats.values().filter(|taken| taken.peer == peer).count()
    }

    /// Ends one of these connections, if one may be ended.
    // SECURITY: who has shown no token never displaces a request of who has.
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
    /// The connection, as its requests know it.
    pub(super) fn connection(&self) -> Arc<Connection> {
        self.connection.clone()
    }

    /// Tells when it has to end.
    pub(super) fn made_way(&self) -> CancellationToken {
        self.make_way.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connection.table.lock().seats.remove(&self.connection.number);
    }
}

impl Connection {
    /// It has shown a valid token.
    pub fn mark_proven(&self) {
        self.table.change(self.number, |taken| taken.proven = true);
    }

    /// A request of it begins.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.table.change(self.number, |taken| taken.under_way += 1);
        UnderWay(Some(self.clone()))
    }
}

impl UnderWay {
    /// The connection speaks another protocol from now on.
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
