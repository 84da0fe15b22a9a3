//! `ask`, `run`, `pending`, `approve`, `deny`, `answer`, `grants`: every way to an exit code.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    process::{Process, run, start},
    terminal::Terminal,
};
use serde_json::{Value, json};

#[tokio::test]
async fn an_approval_ends_with_0_and_names_who_decided() {
    let daemon = Daemon::start("").await;
    let mut ask = start(&daemon, &["ask", "--reason", "tidy", "--", "rm", "-rf", "my build"]);
    let id = ask.waits_for().await;
    let card = daemon.read(&id).await;
    assert_eq!(card["call"]["args"], json!({"command": "rm -rf 'my build'"}));
    assert_eq!(card["call"]["reason"], "tidy");
    let approved = run(&daemon, &["approve", &id[..4]]).await;
    assert_eq!(approved.short(), (Some(0), "Approved once.\n"));
    assert_eq!(ask.ends().await.short(), (Some(0), "approved by the approver's token\n"));
}

#[tokio::test]
async fn a_denial_ends_with_3_and_carries_its_reason() {
    let daemon = Daemon::start("").await;
    let mut ask = start(&daemon, &["ask", "--json", "--", "git", "push"]);
    let id = ask.waits_for().await;
    let denied = run(&daemon, &["deny", &id, "--reason", "not on a Friday"]).await;
    assert_eq!(denied.code, Some(0), "{denied:?}");
    let ended = ask.ends().await;
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let by = json!({"kind": "person", "platform": "api", "id": "approver",
        "name": "the approver's token"});
    let expected = json!({"verdict": "deny", "state": "answered", "rule": null, "scope": null,
        "reason": "denied by the approver's token: not on a Friday", "answers": null,
        "updated_input": null, "by": by});
    assert_eq!((ended.code, told), (Some(3), expected));
}

#[tokio::test]
async fn an_answer_that_comes_too_late_says_so_and_decides_nothing() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    assert_eq!(run(&daemon, &["deny", &id]).await.code, Some(0));
    let late = run(&daemon, &["approve", &id]).await;
    assert_eq!(late.code, Some(1));
    assert!(late.stdout.starts_with("Already denied by the approver's token"), "{late:?}");
    assert_eq!(daemon.read(&id).await["answer"]["decision"], "deny");
}

#[tokio::test]
async fn a_critical_call_is_not_approved_in_one_step_and_the_answer_names_it() {
    let daemon = Daemon::start("").await;
    let command = "sudo rm -rf --no-preserve-root /";
    let id = daemon.ask(&shell(command)).await;
    let refused = run(&daemon, &["approve", &id]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains(command) && refused.stderr.contains("--yes"), "{refused:?}");
    let mut terminal = Terminal::start(&daemon, &["approve", &id], 100);
    terminal.until("Approve this critical call? [y/N]").await;
    terminal.types("n\r");
    terminal.until("Nothing is approved.").await;
    assert_eq!(terminal.ends().await, Some(8));
    assert_eq!(daemon.read(&id).await["state"], "open");
    let mut terminal = Terminal::start(&daemon, &["approve", &id], 100);
    terminal.until("Approve this critical call? [y/N]").await;
    terminal.types("y\r");
    terminal.until("Approved once.").await;
    assert_eq!(terminal.ends().await, Some(0));
    let again = daemon.ask(&shell(command)).await;
    let approved = run(&daemon, &["approve", &again, "--yes"]).await;
    assert_eq!(approved.short(), (Some(0), "Approved once.\n"));
    assert!(approved.stderr.contains(command), "{approved:?}");
}

#[tokio::test]
async fn the_only_ask_needs_no_id_and_is_shown_before_it_is_approved() {
    let daemon = Daemon::start("").await;
    let none = run(&daemon, &["approve"]).await;
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (Some(2), "error: nothing waits for an answer\n")
    );
    let id = daemon.ask(&shell("git push")).await;
    let unseen = run(&daemon, &["approve"]).await;
    assert_eq!(unseen.code, Some(2), "nobody can be asked: {unseen:?}");
    assert!(unseen.stderr.contains("git push"), "{unseen:?}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    let mut terminal = Terminal::start(&daemon, &["approve"], 100);
    terminal.until("Approve this call? [y/N]").await;
    terminal.types("y\r");
    terminal.until("Approved once.").await;
    assert_eq!(terminal.ends().await, Some(0));
    let ids = [daemon.ask(&shell("git pull")).await, daemon.ask(&shell("git fetch")).await];
    let several = run(&daemon, &["deny"]).await;
    assert_eq!(several.code, Some(2), "{several:?}");
    assert!(several.stderr.contains("2 asks wait"), "{several:?}");
    assert!(ids.iter().all(|id| several.stderr.contains(id.as_str())), "{several:?}");
    assert_eq!(run(&daemon, &["deny", &ids[0]]).await.code, Some(0));
    assert_eq!(run(&daemon, &["deny"]).await.code, Some(0));
    assert_eq!(daemon.read(&ids[1]).await["answer"]["decision"], "deny");
}

#[tokio::test]
async fn nobody_answering_ends_with_5() {
    let daemon = Daemon::start("").await;
    let ended = run(&daemon, &["ask", "--expires", "1s", "--", "git", "push"]).await;
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stdout.starts_with("Timed out after "), "{ended:?}");
}

#[tokio::test]
async fn an_ask_that_is_left_ends_with_8_and_stays_open() {
    let daemon = Daemon::start("").await;
    let left = run(&daemon, &["ask", "--no-wait", "--", "git", "push"]).await;
    let open = daemon.open().await;
    let id = open[0]["id"].as_str().unwrap();
    assert_eq!(left.short(), (Some(8), format!("{id} waits for an answer\n").as_str()));
    let short = run(&daemon, &["ask", "--wait", "1s", "--json", "--", "git", "pull"]).await;
    assert_eq!(short.code, Some(8), "{short:?}");
    assert_eq!(daemon.open().await.len(), 2);
}

#[tokio::test]
async fn a_signal_takes_the_ask_back_and_ends_with_130() {
    let daemon = Daemon::start("").await;
    for signal in ["INT", "TERM"] {
        let mut ask = start(&daemon, &["ask", "--", "git", "push"]);
        let id = ask.waits_for().await;
        ask.signal(signal);
        let ended = ask.ends().await;
        assert_eq!(ended.short(), (Some(130), ""), "{signal}");
        let last = ended.stderr.lines().last();
        assert_eq!(last, Some("Cancelled: nobody can approve it any more."), "{signal}");
        assert!(!ended.stderr.contains('\u{1b}'), "no line that updates in a pipe");
        let closed = daemon.read(&id).await;
        let told = (&closed["state"], &closed["verdict"]);
        assert_eq!(told, (&json!("cancelled"), &json!("deny")), "{signal}");
    }
}

#[tokio::test]
async fn a_wait_survives_a_crash_of_the_daemon() {
    let mut daemon = Daemon::start("").await;
    let mut ask = start(&daemon, &["ask", "--", "git", "push"]);
    let id = ask.waits_for().await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    assert_eq!(ask.ends().await.short(), (Some(0), "approved by the approver's token\n"));
}

#[tokio::test]
async fn a_question_prints_the_answer() {
    let daemon = Daemon::start("").await;
    let question = ["ask", "--question", "Which?", "--option", "SQLite", "--option", "Postgres"];
    let mut ask = start(&daemon, &question);
    let id = ask.waits_for().await;
    let approved = run(&daemon, &["approve", &id]).await;
    assert_ne!(approved.code, Some(0), "questions are never approved without answers");
    let shown = run(&daemon, &["pending", "--full"]).await.stdout;
    let options = format!(
        "    offers     SQLite · Postgres · Other… · Decline\n    answer     countersign answer {id} OPTION\n"
    );
    assert!(shown.ends_with(&options), "{shown}");
    let refused = run(&daemon, &["answer", &id, "Oracle"]).await;
    let said = "error: `Oracle` is not an option; the options are: SQLite, Postgres. Add --text to send \
                your own words\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), said));
    assert_eq!(run(&daemon, &["answer", &id, "SQLite"]).await.code, Some(0));
    assert_eq!(ask.ends().await.short(), (Some(0), "SQLite\n"));
}

#[tokio::test]
async fn a_wait_that_is_interrupted_leaves_the_ask_open_and_says_so() {
    let daemon = Daemon::start("").await;
    let mut ask = start(&daemon, &["ask", "--wait", "1h", "--", "git", "push"]);
    let id = ask.waits_for().await;
    ask.signal("INT");
    let ended = ask.ends().await;
    let said = format!("Still open: {id} can be answered until its deadline.\n");
    assert_eq!((ended.code, ended.stderr.ends_with(&said)), (Some(130), true), "{ended:?}");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn own_words_answer_a_question_with_options_when_they_are_marked_as_such() {
    let daemon = Daemon::start("").await;
    let mut ask = start(&daemon, &["ask", "--question", "Which?", "--option", "SQLite"]);
    let id = ask.waits_for().await;
    let answered = run(&daemon, &["answer", &id, "--text", "whatever is there"]).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert_eq!(ask.ends().await.short(), (Some(0), "whatever is there\n"));
}

#[tokio::test]
async fn a_mistyped_command_gets_a_suggestion() {
    let daemon = Daemon::start("").await;
    let ended = run(&daemon, &["pendign"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("'pending'"), "{ended:?}");
}

#[tokio::test]
async fn several_choices_are_printed_one_a_line() {
    let daemon = Daemon::start("").await;
    let question =
        ["ask", "--question", "Which?", "--multi", "--option", "Lint", "--option", "Docs"];
    let mut ask = start(&daemon, &question);
    let id = ask.waits_for().await;
    assert_eq!(run(&daemon, &["answer", &id, "Lint,Docs"]).await.code, Some(0));
    assert_eq!(ask.ends().await.short(), (Some(0), "Lint\nDocs\n"));
}

#[tokio::test]
async fn run_becomes_the_command_once_it_is_allowed() {
    let daemon = Daemon::start("").await;
    let script = "read line; echo \"got $line\"; env | grep -c APPROVER; exit 7";
    let mut command = daemon.command(&["run", "--", "sh", "-c", script]);
    command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
    let mut process = Process::start(command);
    let id = process.waits_for().await;
    let shown = daemon.read(&id).await["call"]["args"]["command"].as_str().unwrap().to_owned();
    assert_eq!(shown, format!("sh -c '{script}'"));
    run(&daemon, &["approve", &id]).await;
    let ended = process.input("words\n").await.ends().await;
    assert_eq!(ended.short(), (Some(7), "got words\n0\n"), "{ended:?}");
}

#[tokio::test]
async fn run_does_not_run_what_is_denied_expired_or_taken_back() {
    let daemon = Daemon::start("").await;
    let file = daemon.dir.path().join("made");
    let file = file.to_str().unwrap();
    let mut denied = start(&daemon, &["run", "--", "touch", file]);
    let id = denied.waits_for().await;
    run(&daemon, &["deny", &id]).await;
    assert_eq!(denied.ends().await.code, Some(3));
    let expired = run(&daemon, &["run", "--expires", "1", "--", "touch", "-a", file]).await;
    assert_eq!(expired.code, Some(5));
    let mut back = start(&daemon, &["run", "--", "touch", "-m", file]);
    back.waits_for().await;
    back.signal("INT");
    assert_eq!(back.ends().await.code, Some(130));
    assert!(!std::path::Path::new(file).exists());
}

#[tokio::test]
async fn without_a_daemon_nothing_is_allowed_and_the_mend_is_named() {
    let mut daemon = Daemon::start("").await;
    assert!(daemon.stop().await);
    let file = daemon.dir.path().join("made");
    let ended = run(&daemon, &["run", "--", "touch", file.to_str().unwrap()]).await;
    assert_eq!(ended.short(), (Some(1), ""));
    assert!(ended.stderr.contains("no countersign daemon at unix:"), "{ended:?}");
    assert!(ended.stderr.contains("start one with `countersign serve`"), "{ended:?}");
    assert!(!file.exists());
}

#[tokio::test]
async fn over_http_a_token_is_needed_and_a_wrong_one_ends_with_4() {
    let daemon = Daemon::start("").await;
    let ask = |token: Option<&str>| {
        let mut command = daemon.command(&["ask", "--no-wait", "--", "git", "push"]);
        command.env("COUNTERSIGN__CLIENT__URL", &daemon.url);
        command.envs(token.map(|token| ("COUNTERSIGN__CLIENT__TOKEN", token)));
        Process::start(command).ends()
    };
    assert_eq!(ask(Some(crate::daemon::AGENT)).await.code, Some(8));
    let wrong = ask(Some("made-up")).await;
    assert_eq!(
        (wrong.code, wrong.stderr.as_str()),
        (
            Some(4),
            "error: the daemon does not know this token: compare [client] token with the daemon's config\n"
        )
    );
    assert_eq!(ask(None).await.code, Some(4));
}

#[tokio::test]
async fn answering_needs_the_approvers_token() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), config.replace(APPROVER, &hash_of_nothing())).unwrap();
    let without = run(&daemon, &["approve", &id]).await;
    assert_eq!(without.code, Some(4));
    assert!(without.stderr.contains("approver.token"), "{without:?}");
    let mut agent = daemon.command(&["approve", &id]);
    agent.env("COUNTERSIGN_APPROVER_TOKEN", crate::daemon::AGENT);
    assert_eq!(Process::start(agent).ends().await.code, Some(4), "an agent's token");
    assert_eq!(daemon.read(&id).await["state"], "open");
    std::fs::write(daemon.dir.path().join("approver.token"), APPROVER).unwrap();
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0), "from the file beside");
}

fn hash_of_nothing() -> String {
    format!("sha256:{}", "0".repeat(64))
}

#[tokio::test]
async fn pending_shows_what_waits() {
    let daemon = Daemon::start("").await;
    assert_eq!(run(&daemon, &["pending"]).await.short(), (Some(0), "Nothing waits.\n"));
    let id = daemon.ask(&shell("git push")).await;
    let short = run(&daemon, &["pending"]).await.stdout;
    assert_eq!(short.lines().count(), 1, "{short}");
    assert!(short.starts_with(&id) && short.contains("left  git push  tester · shop"), "{short}");
    let shown = run(&daemon, &["pending", "--full"]).await.stdout;
    let head = format!(
        "{id}  git push\n    → Publishes to the default remote (git push)\n    tester · shop"
    );
    assert!(shown.starts_with(&head), "{shown}");
    for part in [
        "session    one",
        "folder     /home/ana/shop",
        "tool       shell_exec",
        "why        ",
        "    → ",
        " left",
        "offers     Approve · Always: git push",
        "more       10 min",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let machine: Value =
        serde_json::from_str(&run(&daemon, &["pending", "--json"]).await.stdout).unwrap();
    assert_eq!(machine["asks"], json!(daemon.open().await));
}

#[tokio::test]
async fn a_grant_is_listed_used_and_revoked() {
    let daemon = Daemon::start("").await;
    assert_eq!(run(&daemon, &["grants"]).await.short(), (Some(0), "There are no grants.\n"));
    let id = daemon.ask(&shell("git push origin main")).await;
    let approved = run(&daemon, &["approve", &id, "--scope", "session"]).await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let grants: Value =
        serde_json::from_str(&run(&daemon, &["grants", "--json"]).await.stdout).unwrap();
    let grant = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "allow");
    let listed = run(&daemon, &["grants", "--scope=session"]).await.stdout;
    let used = "  session in one, by the approver's token just now, used once, last just now for \
                `git push origin main`\n";
    assert!(listed.starts_with(&grant) && listed.ends_with(used), "{listed}");
    assert_eq!(run(&daemon, &["grants", "--scope=always"]).await.stdout, "There are no grants.\n");
    let revoked = run(&daemon, &["grants", "revoke", &grant]).await;
    assert!(revoked.stdout.starts_with("Revoked: "), "{revoked:?}");
    assert_eq!(daemon.call(&shell("git push origin main")).await.1["verdict"], "ask");
}

#[tokio::test]
async fn arguments_that_make_no_sense_end_with_2() {
    let daemon = Daemon::start("").await;
    for args in [
        &["ask"][..],
        &["ask", "--option", "x"],
        &["ask", "--args", "{}", "--", "ls"],
        &["run"],
        &["approve"],
        &["approve", "x", "--scope", "forever"],
        &["nonsense"],
    ] {
        assert_eq!(run(&daemon, args).await.code, Some(2), "{args:?}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}
