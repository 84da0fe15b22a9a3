//! `connect` and `disconnect claude-code` on a settings file.

use crate::process::{Ended, Process};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};
use tokio::process::Command;

const THEIRS: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": \
                      [{ \"type\": \"command\", \"command\": \"beep\" }] }\n    ]\n  }\n}\n";

async fn countersign(home: &Path, args: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(args).env_clear().env("HOME", home);
    Process::start(command).ends().await
}

#[tokio::test]
async fn a_gate_of_dialogs_goes_into_no_settings_that_a_project_can_change() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("shop/.claude");
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    let connect = |gate: &'static str, file: &Path| {
        let (file, home) = (file.to_str().unwrap().to_owned(), home.path());
        async move {
            countersign(home, &["connect", "claude-code", gate, "--yes", "--settings", &file]).await
        }
    };
    for name in ["settings.json", "settings.local.json", "other.json"] {
        let file = project.join(name);
        let refused = connect("--gate=dialog", &file).await;
        let why = "`--gate=dialog` belongs into your own settings or into managed ones, which no \
                   project can change: leave out --settings, or name /";
        assert_eq!((refused.code, refused.stderr.contains(why)), (Some(1), true), "{refused:?}");
        assert!(!file.exists());
    }
    let own = home.path().join(".claude/settings.json");
    for (gate, file) in [("--gate=dialog", own), ("--gate", project.join("settings.json"))] {
        let connected = connect(gate, &file).await;
        assert_eq!((connected.code, file.exists()), (Some(0), true), "{connected:?}");
    }
}

#[tokio::test]
async fn connect_shows_the_change_keeps_the_rest_and_disconnect_undoes_it() {
    let home = tempfile::tempdir().unwrap();
    let (folder, file) = (home.path().join(".claude"), home.path().join(".claude/settings.json"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, THEIRS).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();

    let connected = countersign(home.path(), &["connect", "claude-code", "--yes"]).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
    // The config is named though there is none yet: a project's environment could name another.
    let config = home.path().join(".config/countersign/countersign.toml");
    let program = env!("CARGO_BIN_EXE_countersign");
    let hook = format!("\"{program} hook claude-code --config {}\"", config.display());
    let added = connected.stdout.lines().filter(|line| line.starts_with('+'));
    assert_eq!(added.filter(|line| line.contains(&hook)).count(), 6, "{connected:?}");
    assert!(!connected.stdout.contains('\u{1b}'), "no colour into a pipe");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

    let with_hooks = fs::read_to_string(&file).unwrap();
    let again = countersign(home.path(), &["connect", "claude-code"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.starts_with("Claude Code is connected already.\n\nAsked:   "),
        "{again:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), with_hooks);

    let gone = countersign(home.path(), &["disconnect", "claude-code", "--yes"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), THEIRS);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside the settings");
}

#[tokio::test]
async fn nobody_at_the_terminal_means_no_change_without_yes() {
    let home = tempfile::tempdir().unwrap();
    let refused = countersign(home.path(), &["connect", "claude-code"]).await;
    let said = "error: no terminal to confirm this on; --yes makes it\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), said));
    assert!(!home.path().join(".claude").exists());
}

#[tokio::test]
async fn settings_that_do_not_parse_are_refused_with_line_and_column() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("s.json");
    fs::write(&file, "{\n  // mine\n}").unwrap();
    let name = file.to_str().unwrap();
    let args = ["connect", "claude-code", "--yes", "--settings", name];
    let refused = countersign(home.path(), &args).await;
    let said = format!("error: {name}:2:3: key must be a string\n");
    assert_eq!((refused.code, refused.stderr), (Some(1), said));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  // mine\n}");
}

#[tokio::test]
async fn a_link_to_the_settings_stays_a_link() {
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real.json"), home.path().join("link.json"));
    fs::write(&real, "{}\n").unwrap();
    symlink(&real, &link).unwrap();
    let args = ["connect", "claude-code", "--yes", "--settings", link.to_str().unwrap()];
    assert_eq!(countersign(home.path(), &args).await.code, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("PermissionRequest"));
}

#[tokio::test]
async fn a_named_config_is_named_in_the_hook_too() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("my config.toml");
    fs::write(&config, "").unwrap();
    let args = ["--config", config.to_str().unwrap(), "connect", "claude-code", "--yes"];
    assert_eq!(countersign(home.path(), &args).await.code, Some(0));
    let settings = fs::read_to_string(home.path().join(".claude/settings.json")).unwrap();
    let named = format!("hook claude-code --config '{}'", config.display());
    assert!(settings.contains(&named), "{settings}");
    let gone = countersign(home.path(), &["disconnect", "claude-code", "--yes"]).await;
    assert_eq!(gone.code, Some(0));
    let made = home.path().join(".claude/settings.json");
    assert!(!made.exists(), "the file that connect made is gone");
}

#[tokio::test]
async fn the_form_of_the_file_comes_back_even_where_an_edit_cannot_tell_it() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("s.json");
    let name = file.to_str().unwrap();
    for theirs in ["{ \"hooks\": { } }", "{\r\n  \"hooks\": {\r\n  }\r\n}", "\u{feff}{\"a\":1}"] {
        fs::write(&file, theirs).unwrap();
        let args = ["connect", "claude-code", "--yes", "--settings", name];
        let connected = countersign(home.path(), &args).await;
        assert_eq!(connected.code, Some(0), "{connected:?}");
        let kept = format!("Saved a backup: {name}.1.bak.");
        assert!(connected.stdout.contains(&kept), "{connected:?}");
        assert_eq!(fs::read_to_string(format!("{name}.1.bak")).unwrap(), theirs);
        let args = ["disconnect", "claude-code", "--yes", "--settings", name];
        assert_eq!(countersign(home.path(), &args).await.code, Some(0));
        assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
        assert!(!Path::new(&format!("{name}.1.bak")).exists(), "nobody needs the copy any more");
    }
}

#[tokio::test]
async fn nothing_is_written_where_something_unexpected_is_in_the_place_of_the_file() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    symlink(at("nowhere"), at("broken")).unwrap();
    fs::write(at("fixed"), "{}").unwrap();
    fs::set_permissions(at("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
    for (name, why) in [
        ("folder", "is not a file; remove it first"),
        ("broken", "is a link to a file that is not there; remove it"),
        ("fixed", "is read-only; `chmod u+w` it first, or edit what makes it"),
    ] {
        let file = at(name);
        let args = ["connect", "claude-code", "--yes", "--settings", file.to_str().unwrap()];
        let refused = countersign(home.path(), &args).await;
        let said = format!("error: {} {why}\n", file.display());
        assert_eq!((refused.code, refused.stderr), (Some(1), said));
    }
    assert!(!at("nowhere").exists());
    assert_eq!(fs::read_to_string(at("fixed")).unwrap(), "{}");
}

#[tokio::test]
async fn a_lost_phone_goes_out_of_the_config_and_the_rest_stays() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/countersign");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("countersign.toml");
    let both = "# mine\n[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = 5 }, { chat = 7 }]\n\n\
                [approvers]\ntelegram = [5, 6]\n";
    fs::write(&file, both).unwrap();
    let gone =
        countersign(home.path(), &["disconnect", "telegram", "--person", "5", "--yes"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    let one = "# mine\n[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = 7 }]\n\n\
               [approvers]\ntelegram = [6]\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), one);
    assert!(gone.stdout.contains("Removed 5 from ") && !gone.stdout.contains("1:a"), "{gone:?}");
    let again =
        countersign(home.path(), &["disconnect", "telegram", "--person", "5", "--yes"]).await;
    assert!(again.stdout.starts_with("5 is not connected in "), "{again:?}");
    let refused = countersign(home.path(), &["disconnect", "telegram"]).await;
    assert_eq!(refused.code, Some(2), "nobody can be asked: {refused:?}");
    let all = countersign(home.path(), &["disconnect", "telegram", "--yes"]).await;
    assert_eq!(all.code, Some(0), "{all:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n\n[approvers]\ntelegram = []\n");
}
