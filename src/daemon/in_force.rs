//! Notes in the log which config and which rules are in force, whenever they change.

use super::reload::Reloader;
use countersign_gate::Gate;
use countersign_store::{Store, StoreError};
use countersign_tokens::{clock, digest};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often it is looked whether they changed.
const LOOK: Duration = Duration::from_secs(1);

/// Notes in the log what is in force.
pub(super) struct InForceLog {
    pub(super) store: Store,
    pub(super) gate: Arc<Gate>,
    pub(super) reloader: Arc<Reloader>,
}

impl InForceLog {
    /// Notes it at the start and after each change, until told to stop.
    pub(super) async fn keep(self, stop: CancellationToken) {
        let (mut config, mut rules) = (Value::Null, Value::Null);
        while !stop.is_cancelled() {
            let noted = async {
                self.note("config", &mut config, self.config()).await?;
                self.note("rules", &mut rules, self.rules().await).await
            };
            if let Err(error) = noted.await {
                tracing::debug!(%error, "what is in force is noted in the log later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
        }
    }

    async fn note(&self, kind: &str, last: &mut Value, now: Value) -> Result<(), StoreError> {
        if *last == now {
            return Ok(());
        }
        self.store.note(clock::now_ms(), kind, None, &now).await?;
        *last = now;
        Ok(())
    }

    fn config(&self) -> Value {
        let version = self.reloader.version().borrow().clone();
        json!({"daemon": self.gate.daemon(), "version": version,
            "program": env!("CARGO_PKG_VERSION")})
    }

    /// The rules file as it is, and why the last good one is in force instead, if it is.
    async fn rules(&self) -> Value {
        let file = self.reloader.rules_path().await;
        let digest = tokio::fs::read(&file).await.ok().map(|bytes| digest::sha256_hex(&bytes));
        json!({"daemon": self.gate.daemon(), "file": file, "digest": digest,
            "problem": self.gate.choices().policy.problem()})
    }
}
