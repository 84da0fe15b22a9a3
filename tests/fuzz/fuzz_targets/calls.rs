//! Any body of `POST /v1/calls` is refused with a sentence or becomes a card, in bounded time and
//! memory: `cargo fuzz run --fuzz-dir tests/fuzz calls -- -max_len=1048576 -timeout=5
//! -rss_limit_mb=1024
//! -malloc_limit_mb=64`.
#![no_main]

use countersign::{
    bridge::card,
    gate::{
        ask::{Ask, Body},
        call::Call,
    },
};
use countersign_policy::{Call as Facts, DEFAULT_RULES, Guardrail, Layers, Mode, Rules};
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};

fuzz_target!(|text: &str| {
    let began = Instant::now();
    // Bodies that get past the first door are what is looked for.
    let named = format!(r#"{{"agent":"a","session":"s","tool":"shell_exec","args":{text}}}"#);
    for body in [text, &named] {
        if let Some(call) = serde_json::from_str::<Call>(body).ok().and_then(taken) {
            let size = drawn(call);
            assert!(size <= 40 * body.len() + 20_000, "{size} of {}", body.len());
        }
    }
    let bound = Duration::from_secs(1) + Duration::from_micros(20) * text.len() as u32;
    assert!(began.elapsed() < bound, "{:?} for {} bytes", began.elapsed(), text.len());
});

fn taken(call: Call) -> Option<Call> {
    let call = call.spell_out().map_err(|why| assert!(!why.0.is_empty())).ok()?;
    call.check().ok().map(|()| call)
}

/// How large the card of a call is that policy has ruled on.
fn drawn(call: Call) -> usize {
    let rules = Rules::parse(DEFAULT_RULES, "permissions.jsonc", Some("/home/me")).unwrap();
    let (grants, guardrail) = (Rules::default(), Guardrail::default());
    let layers = Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let facts = Facts { cwd: call.cwd.clone(), ..Facts::new(&call.tool, call.args.clone()) };
    let ruling = countersign_policy::decide(&facts, &layers, Mode::Default);
    let body = Body {
        always: ruling.always,
        exact: ruling.exact,
        effects: ruling.effects.iter().map(ToString::to_string).collect(),
        critical: ruling.critical,
        ..Body::new(call, ruling.reason)
    };
    let ask = Ask::opened("k8xd8s4n", body.call.digest(), body, 0);
    serde_json::to_string(&card::picture(&ask)).unwrap().len()
}
