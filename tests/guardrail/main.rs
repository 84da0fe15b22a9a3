//! Whatever bash would open below the bridge's folders is never allowed: real bash and the file
//! system are the judges of random commands, spellings, patterns, links and working directories.
//!
//! `COUNTERSIGN_FUZZ=200000 COUNTERSIGN_SEED=1 cargo test --test guardrail -- --nocapture` tries
//! that many; without the variables a short run is made.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod bash;
mod generate;
mod house;

use countersign::gate::links;
use countersign::policy::{Call, Guardrail, Layers, Mode, Ours, Rules, Verdict, decide};
use generate::Chance;
use house::House;
use serde_json::json;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The verdict under rules and a mode that allow everything, links followed.
fn verdict(house: &House, call: Call) -> Verdict {
    let mut call = Call { home: Some(house.text("")), ..call };
    let links = links::look(&countersign_policy::lookups(&call));
    countersign_policy::follow(&mut call, links);
    let all = Rules::parse(r#"{"*": "allow"}"#, "rules", None).unwrap();
    let guardrail = Guardrail::new(Ours {
        paths: vec![house.text(".config/countersign"), house.text(".local/state/countersign")],
        programs: vec!["countersign".to_owned()],
        ..Ours::default()
    });
    let grants = Rules::default();
    let layers =
        Layers { agent: None, rules: &all, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    decide(&call, &layers, Mode::Yolo).verdict
}

#[test]
fn what_bash_would_open_below_our_folders_is_never_allowed() {
    let house = House::new();
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 1500), number("COUNTERSIGN_SEED", 7));
    let mut chance = Chance::new(seed);
    let (mut reached, mut through, mut left, mut allowed) = (0, Vec::new(), wanted, 0);
    while left > 0 {
        let batch: Vec<(String, String)> = (0..left.min(250))
            .map(|_| (generate::folder(&mut chance, &house), generate::text(&mut chance, &house)))
            .collect();
        left -= batch.len() as u64;
        let opened = bash::opened(&house, &batch);
        for ((cwd, text), opened) in batch.into_iter().zip(opened) {
            let call = Call { cwd: Some(cwd.clone()), ..Call::shell(text.clone()) };
            let verdict = verdict(&house, call);
            allowed += u64::from(verdict == Verdict::Allow);
            if let Some(what) = opened {
                reached += 1;
                if verdict == Verdict::Allow {
                    println!("THROUGH in {cwd}: {text:?} opens {what}");
                    through.push(text);
                }
            }
        }
    }
    println!(
        "seed {seed}: {wanted} ways tried, {reached} reach what is ours, {allowed} allowed, {} through",
        through.len()
    );
    assert!(reached * 10 > wanted, "the generator makes too little that reaches anything");
    assert!(allowed * 20 > wanted, "a guardrail that denies everything proves nothing");
    assert_eq!(through, Vec::<String>::new());
}

#[test]
fn what_bash_would_answer_with_our_program_is_never_allowed() {
    let house = House::new();
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 500), number("COUNTERSIGN_SEED", 7));
    let mut chance = Chance::new(seed);
    let (mut answered, mut through, mut left) = (0, Vec::new(), wanted);
    while left > 0 {
        let cwd = house.text("proj");
        let batch: Vec<(String, String)> =
            (0..left.min(250)).map(|_| (cwd.clone(), generate::answer(&mut chance))).collect();
        left -= batch.len() as u64;
        let opened = bash::opened(&house, &batch);
        for ((cwd, text), _) in batch.into_iter().zip(opened).filter(|(_, it)| it.is_some()) {
            answered += 1;
            let call = Call { cwd: Some(cwd), ..Call::shell(text.clone()) };
            if verdict(&house, call) == Verdict::Allow {
                println!("THROUGH: {text:?}");
                through.push(text);
            }
        }
    }
    println!("seed {seed}: {wanted} ways tried, {answered} answer, {} through", through.len());
    assert!(answered * 3 > wanted, "the generator makes too little that answers");
    assert_eq!(through, Vec::<String>::new());
}

#[test]
fn what_a_tool_would_open_below_our_folders_is_never_allowed() {
    let house = House::new();
    let (wanted, seed) = (number("COUNTERSIGN_FUZZ", 1500), number("COUNTERSIGN_SEED", 7));
    let mut chance = Chance::new(seed);
    let (mut reached, mut through) = (0, Vec::new());
    for _ in 0..wanted {
        let cwd = generate::folder(&mut chance, &house);
        let path = generate::plain_path(&mut chance, &house);
        let tool = *chance.pick(&["Read", "LS", "Grep", "Edit", "mcp__fs__get", "read_many_files"]);
        let key = *chance.pick(&["path", "file_path"]);
        let call = Call { cwd: Some(cwd.clone()), ..Call::new(tool, json!({ key: path })) };
        let verdict = verdict(&house, call);
        let Some(what) = house.ours(&cwd, &path) else { continue };
        reached += 1;
        if verdict == Verdict::Allow {
            println!("THROUGH in {cwd}: {tool} of {path} opens {what}");
            through.push(path);
        }
    }
    println!("seed {seed}: {wanted} tools tried, {reached} reach ours, {} through", through.len());
    assert!(reached * 20 > wanted, "the generator makes too little that reaches anything");
    assert_eq!(through, Vec::<String>::new());
}

#[test]
fn a_command_that_just_fits_what_is_looked_at_is_looked_at() {
    let house = House::new();
    for words in 7_995..8_003 {
        let text = format!("sudo cat \"$x\"{}", " a".repeat(words - 2));
        let call = Call { cwd: Some(house.text("")), ..Call::shell(text) };
        assert_ne!(verdict(&house, call), Verdict::Allow, "{words} words");
    }
}

#[test]
fn what_may_run_others_in_more_ways_than_are_looked_at_is_never_allowed() {
    let house = House::new();
    for (times, end) in
        [(3, "cat ~/.config/countersign/approver.token"), (2_000, "ls"), (8_000, "ls")]
    {
        let text = format!("{}{end}", "fd -xa ".repeat(times));
        let call = Call { cwd: Some(house.text("")), ..Call::shell(text) };
        assert_ne!(verdict(&house, call), Verdict::Allow, "{times} times");
    }
}

/// Ways through that runs of these tests found.
const FOUND: &[&str] = &[
    "perl -e 'system(shift)' 'c\\ountersign approve 7'",
    "make -f - << 'END'\na:\n\t@nohup c\\ountersign approve 7\nEND",
    ". /dev/stdin << 'END'\nmake -f - << 'X'\na:\n\t@'counter'sign approve 7\nX\nEND",
    "awk 'BEGIN { system(\"c\\\\ountersign approve 7\") }'",
    "awk 'BEGIN { system(\"pushd $C/?ountersign/approver.token && popd; foo x\") }'",
    "make -f - << 'END'\na:\n\t@mv $$D/approver.token\nEND",
];

#[test]
fn ways_that_were_found_stay_closed() {
    let house = House::new();
    for text in FOUND {
        let call = Call { cwd: Some(house.text("proj")), ..Call::shell((*text).to_owned()) };
        assert_ne!(verdict(&house, call), Verdict::Allow, "{text}");
    }
}
