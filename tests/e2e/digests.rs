//! Digests: what was asked in figures, and the narrowest rules that would have saved asks.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person},
    telegram_server::{ANA, GROUP, Telegram},
};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};

const RULES: &str = "{\n  \"shell_exec\": {\n    \"*\": \"ask\",\n    \"cargo publish *\": \
                     \"deny\"\n  }\n}\n";

struct AskedTeam {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

impl AskedTeam {
    async fn start(more: &str) -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        let config = format!("{}{more}", crate::chats::both(&telegram, &discord));
        let daemon = Daemon::start_with(&config, &[("permissions.jsonc", RULES)]).await;
        discord.until_online().await;
        Self { telegram, discord, daemon }
    }

    /// Asks this, and Ana answers in Telegram.
    async fn answered(&self, command: &str, label: &str) {
        self.answered_in(GROUP, command, label).await;
    }

    async fn answered_in(&self, chat: i64, command: &str, label: &str) {
        let id = self.daemon.ask(&shell(command)).await;
        // Not the newest with buttons: what was answered elsewhere may not be redrawn yet.
        let its =
            || self.telegram.open_cards(chat).into_iter().rfind(|it| it.text.contains(command));
        let card = self.telegram.until("the card", its).await;
        self.telegram.press(chat, card.id, label, ANA).await;
        self.daemon.closed(&id).await;
        let drawn = || self.telegram.message(chat, card.id).is_over().then_some(());
        self.telegram.until("the closed card", drawn).await;
    }

    async fn suggest(&self) -> Value {
        self.printed(&["suggest", "--json"]).await.parse().unwrap()
    }

    async fn printed(&self, args: &[&str]) -> String {
        let mut command = self.daemon.command(args);
        let out = command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER).output().await.unwrap();
        let (text, wrong) = (String::from_utf8(out.stdout), String::from_utf8(out.stderr));
        assert!(out.status.success(), "{wrong:?}");
        text.unwrap().trim_end().to_owned()
    }

    async fn verdict(&self, command: &str) -> Value {
        self.daemon.call(&shell(command)).await.1["verdict"].clone()
    }
}

/// The kind of these calls.
fn kind<'a>(reply: &'a Value, calls: &str) -> &'a Value {
    let kinds = reply["kinds"].as_array().unwrap();
    kinds.iter().find(|kind| kind["calls"] == calls).unwrap_or_else(|| panic!("{reply:#}"))
}

const LINE: &str = r#""shell_exec": { "cargo build --release -p *": "allow" }"#;

#[tokio::test]
async fn what_people_approve_again_and_again_comes_with_the_narrowest_rule_that_saves_it() {
    let team = AskedTeam::start("").await;
    for package in ["shop", "till", "till"] {
        let command = format!("cargo build --release -p {package}");
        team.answered(&command, "Approve").await;
    }
    team.answered("make deploy", "Deny").await;
    team.answered("make all", "Approve").await;
    let reply = team.suggest().await;
    let found = &kind(&reply, "shell: cargo build *")["suggestion"];
    let covers = json!([
        {"title": "cargo build --release -p till", "asks": 2, "approved": 2},
        {"title": "cargo build --release -p shop", "asks": 1, "approved": 1},
    ]);
    let wanted = json!({"tool": "shell_exec", "pattern": "cargo build --release -p *",
        "line": LINE, "saves": 3, "covers": covers});
    assert_eq!(*found, wanted);
    let text = team.printed(&["suggest"]).await;
    assert!(text.contains(&format!("would have saved 3 asks:\n    {LINE}\n")), "{text}");
    assert!(text.contains("    cargo build --release -p shop (1 of 1 approved)"), "{text}");

    // The same in both chats, and in the terminal.
    let says = |text: &str| {
        assert!(text.starts_with("Digest of 7 days: 5 requests.\n"), "{text}");
        assert!(text.contains("4 approved, 1 denied."), "{text}");
        assert!(text.contains("3 × shell: cargo build *\n"), "{text}");
        let rule = "a rule would have saved 3: shell: cargo build --release -p *";
        assert!(text.contains(rule), "{text}");
    };
    let asked = team.telegram.say(GROUP, "/digest", ANA);
    says(&team.telegram.answer_to(GROUP, asked).await);
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    says(&team.discord.command("digest", &[("time", "7d")], &ana).await.words().unwrap());
    says(&team.printed(&["digest"]).await);
    let wrong = team.telegram.say(GROUP, "/digest soon", ANA);
    let told = team.telegram.answer_to(GROUP, wrong).await;
    assert_eq!(told, "Say how far back, such as 24h or 7d.");

    // Whoever takes the line is not asked again, and it covers no more than it says.
    let with = RULES.replace("deny\"\n", &format!("deny\",\n    {}\n", &LINE[16..LINE.len() - 2]));
    std::fs::write(team.daemon.dir.path().join("permissions.jsonc"), with).unwrap();
    assert_eq!(team.verdict("cargo build --release -p mill").await, "allow");
    assert_eq!(team.verdict("cargo build").await, "ask");
    let after = team.suggest().await;
    let why = &kind(&after, "shell: cargo build *")["why_not"];
    assert_eq!(why, "The rules in force do not ask about these calls any more.");
    assert_eq!(team.telegram.violations(), Vec::<String>::new());
    assert_eq!(team.discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn calls_of_several_commands_come_with_all_the_rules_that_they_take() {
    let team = AskedTeam::start("").await;
    for package in ["shop", "till"] {
        let command = format!("cargo build -p {package} && docker build {package}");
        team.answered(&command, "Approve").await;
    }
    let reply = team.suggest().await;
    let kinds = reply["kinds"].as_array().unwrap();
    let found = &kinds[0]["suggestion"];
    let line = |pattern: &str| format!("\"shell_exec\": {{ \"{pattern}\": \"allow\" }}");
    assert_eq!(
        (&found["pattern"], &found["saves"]),
        (&json!("cargo build *"), &json!(2)),
        "{reply:#}"
    );
    assert_eq!(
        found["also"],
        json!([{"tool": "shell_exec", "pattern": "docker build *", "line": line("docker build *")}])
    );
    let text = team.printed(&["suggest"]).await;
    let lines = format!("    {}\n    {}\n", line("cargo build *"), line("docker build *"));
    assert!(text.contains("These lines of the rules file would have saved 2 asks:\n"), "{text}");
    assert!(text.contains(&lines), "{text}");
    let said = team.printed(&["digest"]).await;
    assert!(said.contains("2 rules would have saved 2"), "{said}");
    // Each alone counts: what people denied of either command takes both away.
    team.answered("docker build secrets", "Deny").await;
    let reply = team.suggest().await;
    let of_both = reply["kinds"].as_array().unwrap().iter();
    let mut of_both = of_both.filter(|kind| kind["calls"].as_str().unwrap().contains(" and "));
    let why = "A rule for these calls would cover a call that people denied.";
    assert_eq!(of_both.next().unwrap()["why_not"], why, "{reply:#}");
}

#[tokio::test]
async fn no_rule_is_suggested_for_what_is_critical_denied_or_answered_by_an_answer_rule() {
    let rules = "inbox = true\n[[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\napprovals = 1\n";
    let team = AskedTeam::start(rules).await;
    let yes = json!({ "decision": "approve" });
    let approve = async |command: &str| {
        let id = team.daemon.ask(&shell(command)).await;
        team.daemon.answer(&id, &yes).await;
        team.daemon.closed(&id).await;
    };
    for _ in 0..2 {
        approve("sudo rm -rf --no-preserve-root /").await;
        approve("git push origin main").await;
        approve("cargo build -p shop").await;
        approve("docker build .").await;
    }
    team.answered("cargo build -p till", "Deny").await;
    let reply = team.suggest().await;
    let why = |part: &str| -> Vec<String> {
        let kinds = reply["kinds"].as_array().unwrap().iter();
        let kinds = kinds.filter(|kind| kind["calls"].as_str().unwrap().contains(part));
        kinds.map(|kind| kind["why_not"].as_str().unwrap_or("-").to_owned()).collect()
    };
    let critical = "These calls are critical: they ask every time, whatever a rule says.";
    let all: Vec<_> = reply["kinds"].as_array().unwrap().iter().collect();
    assert!(all.iter().any(|kind| kind["why_not"] == critical), "{reply:#}");
    assert_eq!(why("git push"), ["An answer rule says who answers these calls."]);
    assert_eq!(why("cargo build"), ["People denied or changed some of these calls."]);
    // Beside an answer rule no line of the file is safe: a grant is, which the rule outranks.
    let docker = all.iter().find(|kind| kind["calls"].as_str().unwrap().contains("docker"));
    let found = &docker.unwrap()["suggestion"];
    assert_eq!((&found["line"], &found["saves"]), (&Value::Null, &json!(2)), "{reply:#}");
}

#[tokio::test]
async fn a_digest_is_for_approvers() {
    let team = AskedTeam::start("").await;
    let (code, said) = team.daemon.get("/v1/digest", AGENT).await;
    assert_eq!((code, &said["error"]), (403, &json!("a digest needs the approver's token")));
    let (code, said) = team.daemon.get("/v1/digest?since=yesterday", APPROVER).await;
    assert_eq!(code, 422, "{said}");
    let (_, empty) = team.daemon.get("/v1/digest", APPROVER).await;
    assert_eq!(empty["lines"], json!(["Digest of 7 days: nothing was asked."]));
}

/// A digest every day, at this many minutes before now.
fn daily(minutes: i64) -> String {
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes);
    let at = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M");
    let to = "to = [\"room\", \"channel\", \"person:Ana\"]";
    format!("[digest]\nwhen = \"daily {at}\"\nzone = \"UTC\"\n{to}\n")
}

const ANA_BY_NAME: &str = "[[people]]\nname = \"Ana\"\ntelegram = 4211\ndiscord = \"77\"\n\
                           [[routes]]\ncommand = \"make secret\"\nto = \"person:Ana\"\n";

/// Both chats, with names for their targets.
fn named_chats(telegram: &Telegram, discord: &FakeDiscord) -> String {
    let chats = crate::chats::both(telegram, discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let chats =
        chats.replace(&format!("chat = {GROUP}"), &format!("chat = {GROUP}, name = \"room\""));
    let channel = crate::discord_server::CHANNEL;
    let named = format!("channel = \"{channel}\", name = \"channel\"");
    chats.replace(&format!("channel = \"{channel}\""), &named)
}

impl AskedTeam {
    /// The digests in a chat of Telegram.
    fn digests(&self, chat: i64) -> Vec<String> {
        let all = self.telegram.messages(chat).into_iter().map(|it| it.text);
        all.filter(|text| text.starts_with("Digest of")).collect()
    }

    async fn digest_in(&self, chat: i64) -> String {
        self.telegram.until("a digest", || self.digests(chat).pop()).await
    }
}

#[tokio::test]
async fn a_digest_that_was_due_while_no_daemon_ran_is_sent_once_to_each_of_its_targets() {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    telegram.say(ANA.id, "hello", ANA);
    let chats = named_chats(&telegram, &discord);
    let config = |minutes| format!("{chats}{ANA_BY_NAME}{}", daily(minutes));
    let daemon = Daemon::start_with(&config(60), &[("permissions.jsonc", RULES)]).await;
    discord.until_online().await;
    let mut team = AskedTeam { telegram, discord, daemon };
    team.answered("make all", "Approve").await;
    // What only Ana was asked.
    team.answered_in(ANA.id, "make secret", "Approve").await;
    assert_eq!(team.digests(GROUP), Vec::<String>::new(), "the first look finds nothing missed");

    team.daemon.kill().await;
    // As if they had been closed before the digest was due.
    let file = team.daemon.dir.path().join("state/countersign.db");
    let mut store = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    store.execute("UPDATE ask SET closed_at = closed_at - 600000").await.unwrap();
    store.close().await.unwrap();
    team.daemon.write_config(&config(1));
    team.daemon.run().await;
    assert!(team.digest_in(GROUP).await.starts_with("Digest of 24 hours: 1 request.\n"));
    assert!(team.digest_in(ANA.id).await.starts_with("Digest of 24 hours: 2 requests.\n"));
    let there = team.discord.until(|it| it.text.starts_with("Digest of 24 hours: 1 ")).await;
    assert_eq!(there.reply_to, None);
    // A kill before that is noted repeats it. A target that has to wait is tried again.
    team.daemon.says_so_often("tried=Over", 4).await;
    team.daemon.kill().await;
    team.daemon.run().await;
    team.answered("make again", "Approve").await;
    assert_eq!((team.digests(GROUP).len(), team.digests(ANA.id).len()), (1, 1));
    assert_eq!(team.telegram.violations(), Vec::<String>::new());
    assert_eq!(team.discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn how_often_people_overrule_a_machine_stands_there_by_its_rule_and_the_command() {
    let daemon = Daemon::start("").await;
    let auto = "Claude Code's auto mode";
    for (command, reason, answer) in [
        ("scp a b:", "[Data Exfiltration] sends a file out", "approve"),
        ("scp a b:", "[Data Exfiltration] sends it again", "approve"),
        ("make deploy", "[Production] deploys", "deny"),
        ("make all", "", "approve"),
    ] {
        let appeal = json!({"against": auto, "reason": reason});
        let mut call = shell(command);
        call["appeal"] = appeal;
        let id = daemon.ask(&call).await;
        let (status, reply) = daemon.answer(&id, &json!({"decision": answer})).await;
        assert_eq!((status, &reply["applied"]), (200, &json!(true)), "{reply}");
        // The retry runs, so that the next block is another one.
        daemon.call(&shell(command)).await;
    }
    let (_, digest) = daemon.get("/v1/digest", APPROVER).await;
    assert_eq!((&digest["appeals"], &digest["overruled"]), (&json!(4), &json!(3)), "{digest:#}");
    let kinds = digest["kinds"].as_array().unwrap().iter();
    let mut kinds: Vec<_> =
        kinds.map(|it| json!([it["rule"], it["calls"], it["asks"], it["overruled"]])).collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(
        kinds,
        [
            json!(["Claude Code's auto mode [Data Exfiltration]", "scp a b:", 2, 2]),
            json!(["Claude Code's auto mode [Production]", "make deploy", 1, 0]),
            json!(["Claude Code's auto mode", "make all", 1, 1]),
        ]
    );
    let lines = digest["lines"].to_string();
    assert!(lines.contains("Of 4 blocked by a machine, people released 3."), "{lines}");
    assert!(lines.contains("2 × scp a b:, 2 released"), "{lines}");
}
