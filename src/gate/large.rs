//! Large calls: what is done with them takes its time, and everybody else goes on meanwhile.

use super::call::{Batch, Call};
use serde_json::Value;
use std::{num::NonZero, thread::available_parallelism};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::block_in_place,
};

/// From how many bytes on a call is large.
const LARGE: usize = 64 << 10;

/// Turns for work on large calls: as many as there are cores, so that no more threads than that are
/// busy.
#[derive(Debug)]
pub(super) struct Large(Semaphore);

impl Default for Large {
    fn default() -> Self {
        Self(Semaphore::new(available_parallelism().map_or(1, NonZero::get)))
    }
}

impl Large {
    /// Does this for a call of so many bytes. Where they are many it waits for its turn, and the
    /// runtime's workers do not wait for it.
    // INVARIANT: no call keeps the runtime's workers, however large it is. Work never asks for
    // another turn.
    pub(super) async fn run<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes < LARGE {
            return work();
        }
        // It fails only when it is closed, which nobody does.
        let _turn = self.0.acquire().await;
        match Handle::current().runtime_flavor() {
            // With a single thread there is nobody to hand the others over to.
            RuntimeFlavor::CurrentThread => work(),
            _ => block_in_place(work),
        }
    }
}

/// About how many bytes of a call there is something to rule on in; past what is large nobody
/// counts on.
pub(super) fn bytes(call: &Call) -> usize {
    let Call { args, overrides, policy, meta, batch_remaining, .. } = call;
    let behind = match batch_remaining {
        Some(Batch::Calls(calls)) => calls.as_slice(),
        Some(Batch::Count(_)) | None => &[],
    };
    let values = [Some(args), overrides.as_ref(), policy.as_ref(), meta.as_ref()];
    let mut left = LARGE;
    for value in values.into_iter().flatten().chain(behind.iter().map(|call| &call.arguments)) {
        count(value, &mut left);
    }
    LARGE - left
}

fn count(value: &Value, left: &mut usize) {
    let here = 1 + value.as_str().map_or(0, str::len);
    *left = left.saturating_sub(here);
    match value {
        Value::Array(values) => {
            for value in values.iter().take(*left) {
                count(value, left);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter().take(*left) {
                *left = left.saturating_sub(key.len());
                count(value, left);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::call::Behind;
    use serde_json::json;
    use std::{
        sync::{Arc, Condvar, Mutex, mpsc},
        time::Duration,
    };

    /// Longer than anything here may take.
    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_small_call_is_served_while_more_large_ones_than_there_are_cores_are_at_work() {
        let (large, open) = (Arc::new(Large::default()), Arc::<(Mutex<bool>, Condvar)>::default());
        let (begins, begun) = mpsc::channel();
        let cores = large.0.available_permits();
        let held: Vec<_> = (0..cores + 3)
            .map(|_| {
                let (large, open, begins) = (large.clone(), open.clone(), begins.clone());
                let work = move || {
                    begins.send(()).unwrap();
                    let held = open.0.lock().unwrap();
                    let waited = open.1.wait_timeout_while(held, LONG, |open| !*open).unwrap();
                    !waited.1.timed_out()
                };
                tokio::spawn(async move { large.run(LARGE, work).await })
            })
            .collect();
        let all = tokio::task::spawn_blocking(move || {
            (0..cores).for_each(|_| begun.recv_timeout(LONG).unwrap());
            begun
        });
        let begun = all.await.unwrap();
        let small = large.clone();
        let small = tokio::spawn(async move { small.run(LARGE - 1, || "served").await });
        assert_eq!(tokio::time::timeout(LONG, small).await.unwrap().unwrap(), "served");
        assert!(begun.try_recv().is_err(), "no more large ones at once than there are cores");
        *open.0.lock().unwrap() = true;
        open.1.notify_all();
        for held in held {
            assert!(held.await.unwrap(), "it was let go by the small one, not by the time");
        }
    }

    #[tokio::test]
    async fn with_a_single_thread_it_is_done_all_the_same() {
        assert_eq!(Large::default().run(1 << 20, || 7).await, 7);
    }

    #[test]
    fn texts_keys_and_many_small_values_make_a_call_large_in_whatever_field() {
        let call = |args| Call::new("a", "s", "t", args);
        let (text, many) = ("x".repeat(LARGE), vec![0; 2 * LARGE]);
        for value in [json!(text), json!({ "a": [text] }), json!({ text: 1 }), json!([many, 1])] {
            let small = call(json!({"command": "ls", "n": [1, 2]}));
            assert_eq!(bytes(&small), 1 + 7 + 3 + 1 + 1 + 1 + 1);
            let behind = Behind { tool: "t".into(), arguments: value.clone() };
            let large = [
                call(value.clone()),
                Call { overrides: Some(value.clone()), ..small.clone() },
                Call { policy: Some(value.clone()), ..small.clone() },
                Call { meta: Some(value), ..small.clone() },
                Call { batch_remaining: Some(Batch::Calls(vec![behind])), ..small },
            ];
            assert_eq!(large.map(|call| bytes(&call)), [LARGE; 5]);
        }
        assert!(bytes(&call(json!(vec![0; LARGE - 2]))) < LARGE);
    }
}
