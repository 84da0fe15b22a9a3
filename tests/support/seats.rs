//! What is scarce on a machine, for the tests of all processes: whoever holds a seat may use it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::{
    env,
    fs::{File, TryLockError},
};

/// A seat; it is free again when this is dropped, or its process ends.
#[derive(Debug)]
pub struct Seat {
    _lock: File,
}

impl Seat {
    /// Waits for one of this many seats.
    pub async fn take(name: &'static str, seats: u32) -> Self {
        // Off the runtime: fake servers of this test may have to go on meanwhile.
        let lock = tokio::task::spawn_blocking(move || wait(name, seats));
        Self { _lock: lock.await.unwrap() }
    }
}

fn wait(name: &str, seats: u32) -> File {
    for seat in 0..seats {
        let file = open(name, seat);
        match file.try_lock() {
            Ok(()) => return file,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => panic!("no seat of {name}: {error}"),
        }
    }
    let file = open(name, rand::random::<u32>() % seats);
    file.lock().unwrap();
    file
}

fn open(name: &str, seat: u32) -> File {
    let path = env::temp_dir().join(format!("countersign-tests-{name}-{seat}.lock"));
    // Another user may have made it, who alone may write it.
    File::open(&path).or_else(|_| File::create(&path)).unwrap()
}
