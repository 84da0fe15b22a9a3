//! Leading: of several daemons with one account, one sends.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Whether this daemon leads for an account.
pub trait Lead: Send + Sync {
    /// Whether it does right now, by its own clock.
    fn holds(&self) -> bool;
}

/// Asked directly before every call to a platform: a daemon that was frozen past its lease sends
/// nothing, acknowledgements included, because another one may have done so. Open for those that
/// never leads, such as `doctor`. Cheap to clone.
#[derive(Clone, Default)]
pub struct SendGuard(Arc<Mutex<Option<Arc<dyn Lead>>>>);

impl SendGuard {
    /// From now on this says whether anything may be sent.
    pub fn follow(&self, lead: Arc<dyn Lead>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(lead);
    }

    /// Whether anything may be sent right now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let lead = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lead.as_ref().is_none_or(|lead| lead.holds())
    }
}

impl fmt::Debug for SendGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendGuard({})", if self.is_open() { "open" } else { "closed" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    struct Switch(AtomicBool);

    impl Lead for Switch {
        fn holds(&self) -> bool {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn a_guard_is_open_until_somebody_leads_and_then_as_long_as_they_do() {
        let guard = SendGuard::default();
        assert!(guard.is_open());
        let switch = Arc::new(Switch(AtomicBool::new(true)));
        guard.follow(switch.clone());
        assert!(guard.is_open());
        switch.0.store(false, Relaxed);
        assert!(!guard.is_open());
    }
}
