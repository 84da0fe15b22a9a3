//! wayland-core's approval handshake, for programs that embed it: open calls, grants, and the wire
//! between an engine and its host.
//!
//! The [`rules`] are pure; this crate does the waiting. It
//! does not need the daemon.
//!
//! ```
//! use countersign_policy::{Call, Verdict};
//! use countersign_wcore::rules::{ApprovalScope, Category, Wcore};
//! use countersign_wcore::{ToolApprovalManager, ToolApprovalResult};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let manager = ToolApprovalManager::new(Wcore::default());
//! let waiting = manager.request_approval("c-1", Category::Exec, "Bash").unwrap();
//! manager.approve("c-1", ApprovalScope::Always, None);
//! assert_eq!(waiting.await, Ok(ToolApprovalResult::Approved { answer: None }));
//! assert_eq!(manager.check(&Call::new("Bash", "ls".into())).unwrap().verdict, Verdict::Allow);
//! # });
//! ```

mod bridge;
mod manager;
mod memory;
mod rest;
mod waiting;
pub mod wire;

pub use bridge::{ApprovalBridge, ApprovalOutcome, CancelCause, Suspended};
pub use countersign_profiles::wcore as rules;
pub use manager::ToolApprovalManager;
pub use rest::{SessionHandles, router};
pub use waiting::{RequestError, Resolution, ToolApprovalResult, Waiting, WaitingOutcome};

use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time};

/// The time after which an open approval is denied.
pub const DEFAULT_APPROVAL_TTL: Duration = Duration::from_secs(300);

/// The interval at which expired approvals are looked for.
pub const DEFAULT_REAP_INTERVAL: Duration = Duration::from_secs(30);

/// The time for a request that a person should think over, such as one about money.
pub const DELIBERATION_TTL: Duration = Duration::from_secs(86_400);

/// The source of the time; tests provide their own.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Runs `act` at each interval, for as long as the task runs.
fn every(interval: Duration, act: impl Fn() -> usize + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            time::sleep(interval).await;
            act();
        }
    })
}
