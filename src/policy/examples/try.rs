#![allow(clippy::all, missing_docs, clippy::unwrap_used, clippy::print_stdout)]
use countersign_policy::*;
use std::io::BufRead;
fn main() {
    let rules = Rules::parse(DEFAULT_RULES, "rules", Some("/home/u")).unwrap();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        if line.is_empty() || line.starts_with("##") {
            continue;
        }
        let call = if line.starts_with('{') {
            let v: serde_json::Value = serde_json::from_str(&line).unwrap();
            Call::new(v["tool"].as_str().unwrap(), v["args"].clone())
        } else {
            Call::shell(&line.replace('⏎', "\n"))
        };
        let call = Call { cwd: Some("/home/u/w".into()), home: Some("/home/u".into()), ..call };
        let layers = Layers {
            agent: None,
            rules: &rules,
            grants: &Rules::default(),
            guardrail: &Guardrail::default(),
            now_ms: 0,
        };
        let d = decide(&call, &layers, Mode::Default);
        println!(
            "{:6} {:80} {}",
            format!("{:?}", d.verdict).to_lowercase(),
            line,
            if d.verdict == Verdict::Allow {
                String::new()
            } else {
                d.reason.chars().take(90).collect()
            }
        );
    }
}
