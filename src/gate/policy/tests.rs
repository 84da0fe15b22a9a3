#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;

fn workers(folder: &Path) -> Workers {
    let main = folder.join("permissions.jsonc");
    let profile = Profile::Molf;
    let seed = profile.worker_seed().unwrap();
    Workers::open(profile, seed, &main, None, Guardrail::default(), false).unwrap()
}

#[test]
fn a_worker_names_one_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let workers = workers(folder.path());
    for name in ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b", "ä", &"x".repeat(101)] {
        assert!(workers.path(Some(name)).is_err(), "{name:?}");
    }
    assert!(workers.path(Some(&"x".repeat(100))).is_ok());
    let path = workers.path(Some("3f2a-W_1.b")).unwrap();
    assert_eq!(path, folder.path().join("workers/3f2a-W_1.b/permissions.jsonc"));
}

#[test]
fn names_that_somebody_made_up_lock_nobody_out_and_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let workers = workers(folder.path());
    let path = |name: &str| workers.path(Some(name)).unwrap();
    workers.current(&path("honest"), &[]).unwrap();
    let tool = "shell_exec".to_owned();
    let pattern = "make *".to_owned();
    let always = Rule { tool, pattern, verdict: countersign_policy::Verdict::Allow };
    workers.append(Some("honest"), &[always]).unwrap();
    workers.current(&path("mine"), &[]).unwrap();
    for n in 0..=MOST {
        workers.current(&path(&format!("made-up-{n}")), &[]).unwrap();
    }
    let there = fs::read_dir(folder.path().join("workers")).unwrap().count();
    assert!((MOST..=MOST + 1).contains(&there), "{there}");
    assert!(fs::read_to_string(path("honest")).unwrap().contains("make *"));
    assert!(!path("mine").exists(), "it held the defaults only");
    for name in ["honest", "mine", "another"] {
        workers.current(&path(name), &[]).unwrap();
    }
}

#[test]
fn a_broken_file_of_a_new_worker_allows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let workers = workers(folder.path());
    let path = workers.path(Some("w1")).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{ \"*\": \"allow\", ").unwrap();
    assert!(workers.current(&path, &[]).is_err());
}

#[test]
fn what_a_person_wrote_is_a_workers_file_without_what_grants_have_added() {
    let text = r#"{"shell_exec": {"*": "ask", "make *": "allow", "git push *": "deny"}}"#;
    let granted = [Rule::allow("shell_exec", "make *")];
    let patterns = |text: &str| {
        let rules = by_hand(text, "rules", None, &granted)?;
        Some(rules.iter().map(|rule| rule.pattern.clone()).collect::<Vec<_>>())
    };
    assert_eq!(patterns(text), Some(vec!["*".to_owned(), "git push *".to_owned()]));
    assert_eq!(patterns("{"), None);
}

#[test]
fn the_built_in_rules_decide_where_the_standard_has_no_file_and_nowhere_else() {
    for (profile, built_in) in [(Profile::Standard, true), (Profile::Wcore, false)] {
        let policy = Policy::open(profile, None, None, Guardrail::default(), false).unwrap();
        let Policy::Native(native) = policy else { panic!("{profile:?} has no file") };
        assert_eq!(native.is_built_in(), built_in, "{profile:?}");
    }
}

mod known {
    use super::*;

    #[test]
    fn the_one_that_was_idle_for_longest_makes_room_and_the_main_file_never_does() {
        let mut known = KnownWorkers::default();
        let main = Path::new("main");
        let start = Instant::now();
        known.put(main, Arc::new(()), start);
        let name = |n: usize| PathBuf::from(format!("w{n}"));
        for n in 0..MOST {
            assert_eq!(known.make_room(main, start), Vec::<PathBuf>::new(), "{n}");
            known.put(&name(n), Arc::new(()), start + Duration::from_millis(n as u64));
        }
        known.put(&name(0), Arc::new(()), start + Duration::from_secs(9));
        assert_eq!(known.make_room(main, start), [name(1)]);
        known.put(&name(MOST), Arc::new(()), start + Duration::from_secs(9));
        let later = start + Duration::from_secs(2) + IDLE;
        assert_eq!(known.make_room(main, later).len(), MOST - 2);
        assert!([main, &name(0), &name(MOST)].iter().all(|path| known.get(path).is_some()));
    }
}
