#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::log::key::SigningKey;

const STORE: &str = "ab12cd34";
const HOUR: i64 = 3_600_000;

fn key() -> SigningKey {
    SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
}

fn row(seq: i64) -> LogRow {
    let kind = "answered".to_owned();
    let data = format!("{{\"by\":\"Ana ü\",\"n\":{seq}}}");
    LogRow {
        seq,
        at: 1_700_000_000_000 + seq,
        kind,
        ask: (seq % 2 == 0).then(|| "k3".into()),
        data,
    }
}

/// The lines of a log of so many rows, of which the first were forgotten, with a checkpoint behind
/// every third row and at the end.
fn log(key: &SigningKey, rows: i64, forgotten: i64) -> Vec<String> {
    let mut last = LogHead { count: 0, hash: LogRow::origin(STORE) };
    let mut lines = Vec::new();
    let mut origin = last.clone();
    for seq in 1..=rows {
        let row = match (seq == rows, forgotten) {
            (true, 1..) => {
                let old = row(forgotten).at;
                let data = format!("{{\"rows\":{forgotten},\"newest\":{old},\"keep_ms\":{HOUR}}}");
                LogRow { kind: "forgot".to_owned(), data, at: old + HOUR, ..row(seq) }
            }
            _ => row(seq),
        };
        last = LogHead { count: seq, hash: row.hash(&last.hash) };
        if seq <= forgotten {
            origin = last.clone();
            continue;
        }
        lines.push(LogLine::Row(row, last.hash.clone()).line());
        if seq % 3 == 0 || seq == rows {
            let signed = Checkpoint::sign(key, STORE, last.clone(), seq * 7);
            lines.push(LogLine::Checkpoint(signed).line());
        }
    }
    lines.insert(0, LogHeader::new(STORE, origin, last).line());
    lines
}

fn check_bytes(mut check: LogCheck, text: &[u8]) -> Result<ProvenLog, Vec<LogProblem>> {
    text.split_inclusive(|byte| *byte == b'\n').for_each(|line| check.line(line));
    check.end()
}

fn check(lines: &[String]) -> Result<ProvenLog, Vec<LogProblem>> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    check_bytes(LogCheck::new([], Vec::new()), text.as_bytes())
}

fn head(lines: &[String]) -> LogHead {
    let header = LogHeader::read(&lines[0]).unwrap();
    LogHead { count: header.count, hash: header.head }
}

#[test]
fn a_log_as_it_was_written_is_proven() {
    let key = key();
    for (rows, forgotten) in [(1, 0), (3, 0), (7, 0), (7, 2), (7, 6)] {
        let lines = log(&key, rows, forgotten);
        let store = STORE.to_owned();
        let keys = BTreeSet::from([key.public()]);
        let proven = ProvenLog { store, forgotten, head: head(&lines), keys, uncompared: 0 };
        assert_eq!(check(&lines), Ok(proven), "{rows} {forgotten}");
    }
}

#[test]
fn every_changed_byte_is_found() {
    let key = key();
    for forgotten in [0, 2] {
        let lines = log(&key, 5, forgotten);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            // Every bit, and what could pass for the same: another case, a space, a line's end.
            let others = (0..8).map(|bit| bytes[at] ^ (1 << bit)).chain([b' ', b'\n', b'0', b'"']);
            for other in others.filter(|other| *other != bytes[at]) {
                let mut changed = bytes.to_vec();
                changed[at] = other;
                let found = check_bytes(LogCheck::new([], Vec::new()), &changed);
                assert!(found.is_err(), "byte {at} became {other}: {:?}", &text[..at]);
            }
            let mut shorter = bytes.to_vec();
            shorter.remove(at);
            assert!(check_bytes(LogCheck::new([], Vec::new()), &shorter).is_err(), "without {at}");
            let cut = &bytes[..at];
            assert!(check_bytes(LogCheck::new([], Vec::new()), cut).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn removed_moved_and_repeated_rows_are_named() {
    use LogProblem::*;
    let lines = log(&key(), 7, 0);
    // 0 header, 1-3 rows, 4 checkpoint 3, 5-7 rows 4-6, 8 checkpoint 6, 9 row 7, 10 checkpoint 7.
    let without = |at: usize| {
        let mut lines = lines.clone();
        lines.remove(at);
        check(&lines).unwrap_err()
    };
    assert_eq!(without(0), [NoHeader]);
    assert_eq!(without(1), [Missing(1, 1)]);
    assert_eq!(without(3), [Checkpoint(3), Missing(3, 3)]);
    assert_eq!(without(6), [Missing(5, 5)]);
    assert_eq!(without(9), [Checkpoint(7), Missing(7, 7)]);
    assert_eq!(without(10), [Unsigned(6)]);
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        check(&lines).unwrap_err()
    };
    assert_eq!(changed(&|lines| lines.swap(5, 6)), [Missing(4, 4), Misplaced(4)]);
    assert_eq!(changed(&|lines| lines.insert(6, lines[5].clone())), [Misplaced(4)]);
    assert_eq!(changed(&|lines| lines.insert(9, lines[8].clone())), [Checkpoint(6)]);
    assert_eq!(changed(&|lines| lines.truncate(9)), [Missing(7, 7)]);
    assert_eq!(changed(&|lines| lines[6] = lines[6].replace("Ana", "Eve")), [Changed(5)]);
    assert_eq!(changed(&|lines| lines.truncate(0)), [NoHeader]);
}

#[test]
fn a_log_that_was_written_anew_is_found_by_its_key_and_by_an_expected_head() {
    let ours = key();
    let theirs = key();
    let before = log(&ours, 5, 0);
    let forged = log(&theirs, 5, 0);
    let with = |lines: &[String], keys: Vec<PublicKey>, heads| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        check_bytes(LogCheck::new(keys, heads), text.as_bytes())
    };
    // Without a key nobody can tell whose it is.
    assert!(check(&forged).is_ok());
    let other = theirs.public().to_string();
    let wrong = [
        LogProblem::Signer(3, other.clone()),
        LogProblem::Signer(5, other),
        LogProblem::Unsigned(0),
    ];
    assert_eq!(with(&forged, vec![ours.public()], Vec::new()).unwrap_err(), wrong);
    assert!(with(&before, vec![ours.public()], vec![head(&before)]).is_ok());
    // Cut off at a checkpoint: its header is true for what is left.
    let shorter = log(&ours, 3, 0);
    let full = head(&before);
    assert!(check(&shorter).is_ok());
    let missing = with(&shorter, vec![ours.public()], vec![full.clone()]).unwrap_err();
    assert_eq!(missing, [LogProblem::Head(full)]);
}

#[test]
fn rows_of_another_store_and_forgotten_rows_that_no_row_tells_of_are_found() {
    let key = key();
    let mut lines = log(&key, 5, 0);
    lines[0] = lines[0].replace(STORE, "zz12cd34");
    assert_eq!(check(&lines).unwrap_err()[0], LogProblem::Origin);
    // As if the first two rows had been forgotten, though no row says so.
    let mut lines = log(&key, 5, 0);
    let LogLine::Row(_, hash) = LogLine::read(&lines[2]).unwrap() else { return };
    let origin = LogHead { count: 2, hash };
    lines[0] = LogHeader::new(STORE, origin, head(&lines)).line();
    lines.drain(1..3);
    assert_eq!(check(&lines).unwrap_err(), [LogProblem::Forgotten(2)]);
}

/// A log that ends with this row.
fn ending(key: &SigningKey, kind: &str, at: i64, data: &str) -> Vec<String> {
    let mut lines = log(key, 3, 0);
    let last = head(&lines);
    let kind = kind.to_owned();
    let data = data.to_owned();
    let row = LogRow { seq: 4, at, kind, ask: None, data };
    let end = LogHead { count: 4, hash: row.hash(&last.hash) };
    lines.push(LogLine::Row(row, end.hash.clone()).line());
    lines.push(LogLine::Checkpoint(Checkpoint::sign(key, STORE, end.clone(), 9)).line());
    let origin = LogHead { count: 0, hash: LogRow::origin(STORE) };
    lines[0] = LogHeader::new(STORE, origin, end).line();
    lines
}

#[test]
fn a_row_that_says_that_the_log_was_broken_stays_in_the_verdict() {
    let lines = ending(&key(), "log_broken", 1, "{\"row\":2,\"says\":\"row 2 was changed\"}");
    let broken = LogProblem::Broken(4, "row 2 was changed".to_owned());
    assert_eq!(check(&lines), Err(vec![broken]));
}

#[test]
fn rows_that_were_not_old_enough_are_not_forgotten() {
    let key = key();
    let kept = format!("{{\"rows\":0,\"newest\":1000,\"keep_ms\":{HOUR}}}");
    assert!(check(&ending(&key, "forgot", 1000 + HOUR, &kept)).is_ok());
    let early = Err(vec![LogProblem::ForgottenEarly(4)]);
    assert_eq!(check(&ending(&key, "forgot", 999 + HOUR, &kept)), early);
    // Nor by a row that does not say how old they were, or keeps for no time.
    for data in ["{\"rows\":3}", "{\"rows\":3,\"newest\":1,\"keep_ms\":1000}", "{}", ""] {
        assert_eq!(check(&ending(&key, "forgot", i64::MAX, data)), early, "{data}");
    }
}

#[test]
fn a_key_that_joined_and_is_not_pinned_is_named_also_without_its_checkpoints() {
    let ours = key();
    let theirs = key();
    let data = format!("{{\"key\":\"{}\",\"was\":null,\"how\":\"joined\"}}", theirs.public());
    let lines = ending(&ours, "log_key", 1, &data);
    let with = |keys: Vec<PublicKey>| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        check_bytes(LogCheck::new(keys, Vec::new()), text.as_bytes())
    };
    let named = LogProblem::Signer(4, theirs.public().to_string());
    assert_eq!(with(vec![ours.public()]), Err(vec![named]));
    assert!(with(vec![ours.public(), theirs.public()]).is_ok());
    assert!(with(Vec::new()).is_ok());
}
