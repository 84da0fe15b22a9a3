//! Acknowledging a press on a platform that does not wait.

use crate::Receipt;
use std::{future::Future, time::Duration};

/// What came of a press, and whether the platform was still waiting for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledged<A> {
    /// In time: the acknowledgement itself can carry the receipt.
    InTime(Receipt),
    /// The platform's patience ended first, and it got an empty acknowledgement. The receipt is to
    /// be told in another way: a follow-up message to the presser, an edit of the pressed message.
    Late {
        /// What came of the press.
        receipt: Receipt,
        /// What came of the empty acknowledgement.
        acknowledged: A,
    },
}

/// Waits for the core for as long as the platform waits for us; then gives the empty
/// acknowledgement and goes on waiting for the core.
// INVARIANT: an empty acknowledgement says nothing of the press. What happened is told from the
// receipt alone, after the core has committed or refused.
pub async fn within<A>(
    patience: Duration,
    pressing: impl Future<Output = Receipt>,
    acknowledge: impl Future<Output = A>,
) -> Acknowledged<A> {
    let mut pressing = std::pin::pin!(pressing);
    match tokio::time::timeout(patience, &mut pressing).await {
        Ok(receipt) => Acknowledged::InTime(receipt),
        Err(_) => {
            let (acknowledged, receipt) = tokio::join!(acknowledge, pressing);
            Acknowledged::Late { receipt, acknowledged }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn receipt() -> Receipt {
        Receipt { outcome: Outcome::Applied, sentence: "Approved once.".to_owned(), card: None }
    }

    async fn after(seconds: u64) -> Receipt {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        receipt()
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_in_time_is_told_at_once_and_nothing_empty_is_sent() {
        let empty = std::future::pending::<()>();
        let told = within(Duration::from_secs(2), after(1), empty).await;
        assert_eq!(told, Acknowledged::InTime(receipt()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_core_is_told_late_and_the_platform_is_acknowledged_in_time() {
        let began = tokio::time::Instant::now();
        let empty = async { began.elapsed() };
        let told = within(Duration::from_secs(2), after(4), empty).await;
        let acknowledged = Duration::from_secs(2);
        assert_eq!(told, Acknowledged::Late { receipt: receipt(), acknowledged });
        assert_eq!(began.elapsed(), Duration::from_secs(4));
    }
}
