//! Locks that nothing poisons.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards. Nothing that is done under one of ours stops halfway, so what it guards is
/// whole even where its thread panicked.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
