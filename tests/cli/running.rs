//! `countersign run`: what people saw is what runs, and this process stands in for it.

use crate::{
    daemon::{APPROVER, Daemon, started_by},
    process::{Process, hearing, run, start},
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tokio::process::Command;

/// A daemon that asks people about every call.
async fn asking() -> Daemon {
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    Daemon::start_with(config, &[("rules.jsonc", r#"{"*": "ask"}"#)]).await
}

/// Runs these words in this folder.
fn within(daemon: &Daemon, folder: &Path, words: &[&str]) -> Command {
    let mut command = daemon.command(&[&["run", "--"], words].concat());
    command.current_dir(folder);
    command
}

fn script(file: &Path, text: &str) {
    fs::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn whatever_the_words_hold_they_are_shown_visibly_and_run_as_they_are() {
    let daemon = asking().await;
    let plain = [
        "", "-n", "--", "A=b", "$HOME", "~", "a;b", "it's", "a\nb", "\t", "u\u{308}", "\\", "!x",
        "{a,b}", "`id`",
    ];
    let hidden = ["\u{1b}[2Kx", "\r", "\u{202e}txt.exe", "\u{200b}", "\u{7f}"];
    for words in [&plain[..], &hidden[..]] {
        let mut running = start(&daemon, &[&["run", "--", "printf", "%s\\0"], words].concat());
        let id = running.waits_for().await;
        let (_, ask) = daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await;
        // A shell reads the words of the card as those that run.
        let shown = ask["call"]["args"]["command"].as_str().unwrap();
        let read = Command::new("bash").args(["-c", shown]).output().await.unwrap();
        let card = ask["card"]["blocks"].to_string();
        run(&daemon, &["approve", &id]).await;
        let ended = running.ends().await;
        let wanted: String = words.iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(ended.short(), (Some(0), wanted.as_str()), "{ended:?}");
        assert_eq!(String::from_utf8(read.stdout).unwrap(), wanted);
        for character in ['\u{1b}', '\u{202e}', '\u{200b}', '\r', '\u{7f}'] {
            assert!(!ended.stderr.contains(character), "{character:?} {ended:?}");
        }
        for word in words.iter().filter(|word| word.starts_with('\u{202e}')) {
            let visible = word.replace('\u{202e}', "\\\\u{202e}");
            assert!(card.contains(&visible), "{visible} {card}");
            assert!(ended.stderr.contains("\\u{202e}"), "{ended:?}");
        }
    }
}

#[tokio::test]
async fn words_that_are_no_text_are_refused_before_anybody_is_asked() {
    use std::os::unix::ffi::OsStrExt;
    let daemon = Daemon::start("").await;
    let mut command = daemon.command(&["run", "--", "echo"]);
    command.arg(std::ffi::OsStr::from_bytes(b"a\xff"));
    assert_eq!(Process::start(command).ends().await.code, Some(2));
    assert_eq!(daemon.open().await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_program_or_a_folder_that_was_changed_meanwhile_does_not_run() {
    let daemon = Daemon::start("").await;
    let top = daemon.dir.path().join("shop");
    let made = daemon.dir.path().join("made");
    let touch = format!("touch {}", made.display());
    for (words, change) in [
        ("./deploy", "file"),
        ("./deploy", "new"),
        ("./deploy", "link"),
        ("deploy", "path"),
        ("./deploy", "moved"),
        ("deploy", "moved"),
        ("deploy", "removed"),
    ] {
        let _ = fs::remove_dir_all(&top);
        let (first, second) = (top.join("first"), daemon.dir.path().join("second"));
        fs::create_dir_all(&first).unwrap();
        fs::create_dir_all(&second).unwrap();
        script(&top.join("deploy"), &touch);
        script(&second.join("deploy"), &touch);
        let mut command = within(&daemon, &top, &[words]);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{}:{path}", first.display(), second.display());
        let mut running = Process::start({
            command.env("PATH", path);
            command
        });
        let id = running.waits_for().await;
        let said = match change {
            "file" => {
                // The size stays.
                script(&top.join("deploy"), &touch.replace("made", "mada"));
                "./deploy was changed"
            }
            "new" => {
                script(&top.join("other"), &touch);
                fs::rename(top.join("other"), top.join("deploy")).unwrap();
                "./deploy was changed"
            }
            "link" => {
                fs::remove_file(top.join("deploy")).unwrap();
                "./deploy was changed"
            }
            "path" => {
                script(&first.join("deploy"), &touch);
                "deploy was changed"
            }
            "moved" => {
                let _ = fs::remove_dir_all(top.with_extension("old"));
                fs::rename(&top, top.with_extension("old")).unwrap();
                fs::create_dir_all(&top).unwrap();
                "shop was moved or deleted"
            }
            _ => {
                fs::remove_dir_all(&top).unwrap();
                "shop was moved or deleted"
            }
        };
        run(&daemon, &["approve", &id]).await;
        let ended = running.ends().await;
        assert_eq!(ended.short(), (Some(1), ""), "{change}: {ended:?}");
        assert!(ended.stderr.contains(said), "{change}: {ended:?}");
        assert!(!made.exists(), "{change}");
    }
    // Unchanged, it runs.
    let _ = fs::remove_dir_all(&top);
    fs::create_dir_all(&top).unwrap();
    script(&top.join("deploy"), &touch);
    let mut running = Process::start(within(&daemon, &top, &["./deploy"]));
    let id = running.waits_for().await;
    run(&daemon, &["approve", &id]).await;
    assert_eq!((running.ends().await.code, made.exists()), (Some(0), true));
}

#[tokio::test]
async fn a_command_gets_the_signals_and_its_end_is_reported_as_a_shell_does() {
    let daemon = Daemon::start("").await;
    for signal in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"] {
        let traps = format!("trap 'exit 9' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut command = hearing(&daemon.command(&["run", "--", "bash", "-c", &traps]));
        // As a service or a job starts it: no terminal sends the signal to all.
        command.process_group(0);
        let mut running = Process::start(command);
        let id = running.waits_for().await;
        run(&daemon, &["approve", &id]).await;
        assert_eq!(running.line().await, "ready\n");
        running.signal(signal);
        assert_eq!(running.ends().await.code, Some(9), "{signal}");
        let shown = run(&daemon, &["history", &id]).await;
        assert!(shown.stdout.contains(" → exit 9"), "{shown:?}");
    }
    for (words, code, reported) in
        [(&["sh", "-c", "kill -9 $$"][..], 137, 137), (&["no-such-program-here"][..], 1, 127)]
    {
        let mut running = start(&daemon, &[&["run", "--"], words].concat());
        let id = running.waits_for().await;
        run(&daemon, &["approve", &id]).await;
        assert_eq!(running.ends().await.code, Some(code));
        let shown = run(&daemon, &["history", &id]).await;
        assert!(shown.stdout.contains(&format!(" → exit {reported}")), "{shown:?}");
    }
}

#[tokio::test]
async fn under_nohup_a_closed_terminal_ends_neither_the_wait_nor_the_command() {
    let daemon = asking().await;
    let waits = "echo ready; read -r line; echo \"$line\"";
    let command = daemon.command(&["run", "--", "sh", "-c", waits]);
    let mut command = started_by(&["nohup"], &command);
    command.process_group(0);
    let mut running = Process::start(command);
    let id = running.waits_for().await;
    running.signal_group("HUP");
    run(&daemon, &["approve", &id]).await;
    assert_eq!(running.line().await, "ready\n");
    running.signal_group("HUP");
    running.tell("goes on").await;
    assert_eq!(running.ends().await.short(), (Some(0), "goes on\n"));
}

/// The process is stopped while it waits, so that the answer and the signal are both there when it
/// goes on.
#[tokio::test]
async fn a_signal_at_the_moment_of_the_approval_keeps_the_command_from_running() {
    let daemon = Daemon::start("").await;
    let made = daemon.dir.path().join("made");
    let path = made.to_str().unwrap();
    for signal in ["INT", "TERM", "HUP", "INT", "TERM", "HUP"] {
        let mut running = Process::start(hearing(&daemon.command(&["run", "--", "touch", path])));
        let id = running.waits_for().await;
        running.signal("STOP");
        assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
        running.signal(signal);
        running.signal("CONT");
        let ended = running.ends().await;
        assert_eq!((ended.code, made.exists()), (Some(130), false), "{ended:?}");
        assert!(ended.stderr.contains("othing is run here"), "{ended:?}");
    }
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_people_are_asked_loses_nothing() {
    let mut daemon = asking().await;
    let mut running = start(&daemon, &["run", "--", "sh", "-c", "echo done; exit 4"]);
    let id = running.waits_for().await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &id]).await;
    assert_eq!(running.ends().await.short(), (Some(4), "done\n"));
    let shown = run(&daemon, &["history", &id]).await;
    assert!(shown.stdout.contains(" → exit 4"), "{shown:?}");
}
