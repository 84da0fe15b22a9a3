//! What is scarce on a machine, for the tests of all processes: whoever holds a seat may use it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "tests fail by panicking; each uses only a part"
)]

use std::{
    env,
    fs::{File, TryLockError},
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Tests on the PostgreSQL server: two daemons take up to 18 connections, the few tests with three 27, and
/// it has 97 for us unless somebody has raised its `max_connections`.
pub static POSTGRES: Seats = Seats::new("postgres", 4);
/// Chromium, one at a time: two fight for two cores.
pub static BROWSER: Seats = Seats::new("browser", 1);

/// The seats at one thing.
pub struct Seats {
    name: &'static str,
    count: usize,
    /// Those of this process, who are served in the order in which they come.
    here: Semaphore,
}

/// A seat; it is free again when this is dropped, or its process ends.
#[derive(Debug)]
pub struct Seat {
    _lock: File,
    _here: SemaphorePermit<'static>,
}

impl Seats {
    const fn new(name: &'static str, count: usize) -> Self {
        Self { name, count, here: Semaphore::const_new(count) }
    }

    /// Waits for a seat.
    pub async fn take(&'static self) -> Seat {
        let here = self.here.acquire().await.unwrap();
        // Off the runtime: fake servers of this test may have to go on meanwhile.
        let lock = tokio::task::spawn_blocking(|| self.lock());
        Seat { _lock: lock.await.unwrap(), _here: here }
    }

    fn lock(&self) -> File {
        for seat in 0..self.count {
            let file = self.open(seat);
            match file.try_lock() {
                Ok(()) => return file,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => panic!("no seat of {}: {error}", self.name),
            }
        }
        // Other processes have them all.
        let file = self.open(rand::random_range(0..self.count));
        file.lock().unwrap();
        file
    }

    fn open(&self, seat: usize) -> File {
        let path = env::temp_dir().join(format!("countersign-tests-{}-{seat}.lock", self.name));
        // Another user may have made it, who alone may write it.
        File::open(&path).or_else(|_| File::create(&path)).unwrap()
    }
}
