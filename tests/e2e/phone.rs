//! A phone, from an empty config to a test card that was answered.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, LONG, private_file},
    discord_server::{self, FakeDiscord, Person},
    telegram_server::{ANA, BEN, EVE, Fault, GROUP, TOKEN, Telegram},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

const REFUSED: &str =
    "This code does not work (any more). Run `countersign connect` again for a new one.";
const ARRIVED: &str = "Your code has arrived. Now confirm it in the terminal: nothing may be \
                       answered from here before that.";

/// A machine on which nothing is set up.
struct Machine {
    home: TempDir,
    commands: AtomicUsize,
    began: Instant,
}

/// A `connect` that runs.
struct Connecting {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: String,
}

/// How it ended.
#[derive(Debug)]
struct Connected {
    code: Option<i32>,
    said: String,
    errors: String,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home, commands: AtomicUsize::new(0), began: Instant::now() }
    }

    fn command(&self, args: &[&str]) -> Command {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(args).env_clear().env("HOME", self.home.path()).kill_on_drop(true);
        command.env("COUNTERSIGN__DAEMON__LISTEN", "127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn config(&self) -> PathBuf {
        self.home.path().join(".config/countersign/countersign.toml")
    }

    fn config_text(&self) -> String {
        fs::read_to_string(self.config()).unwrap()
    }

    /// Files beside the config.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.config().parent().unwrap()).unwrap();
        let names = files.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    async fn run(&self, args: &[&str]) -> String {
        let ended = self.command(args).output().await.unwrap();
        let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        assert!(ended.status.success(), "{said}");
        said
    }

    async fn serve(&self) -> Child {
        self.serve_by(self.command(&["serve"])).await
    }

    /// The same with a clock that is 11 minutes late once its file exists, which is returned too;
    /// nothing where no C compiler is.
    async fn serve_by_late_clock(&self) -> Option<(Child, PathBuf)> {
        let [clock, late] = ["clock.so", "late"].map(|name| self.home.path().join(name));
        let mut made = Command::new("cc");
        made.args(["-shared", "-fPIC", "-o"]).arg(&clock).arg("tests/support/late_clock.c");
        if !made.status().await.is_ok_and(|made| made.success()) {
            println!("skipped: no C compiler for this platform's clock");
            return None;
        }
        let mut serve = self.command(&["serve"]);
        serve.env("LD_PRELOAD", &clock).env("LATE_CLOCK", &late);
        Some((self.serve_by(serve).await, late))
    }

    async fn serve_by(&self, mut serve: Command) -> Child {
        let mut daemon = serve.stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
        let ready = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        assert!(ready.starts_with("ready "), "{ready}");
        daemon
    }

    /// Runs `connect` with this token and these options.
    fn connect(&self, platform: &str, token: &str, url: &str, options: &[&str]) -> Connecting {
        let file = self.home.path().join("token");
        private_file(&file, &format!("{token}\n"));
        let (file, url) = (file.display().to_string(), format!("api_url={url}"));
        let first = ["connect", platform, "--token-file", &file, "--set", &url];
        let mut child = self.command(&[&first, options].concat()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Connecting { child, lines, said: String::new() }
    }

    fn report(&self, platform: &str) {
        let (commands, time) = (self.commands.load(Ordering::Relaxed), self.began.elapsed());
        println!("{platform}: {commands} commands, {:.1} s", time.as_secs_f32());
        assert!(commands <= 3 && time.as_secs() < 60, "{commands} commands, {time:?}");
    }
}

impl Connecting {
    /// Waits for a line with this in it.
    async fn says(&mut self, part: &str) -> String {
        loop {
            let line = timeout(LONG, self.lines.next_line()).await.unwrap().unwrap();
            let Some(line) = line else {
                let mut errors = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut errors).await.unwrap();
                panic!("it never said `{part}`; it said: {}{errors}", self.said)
            };
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The code in the link or the step that it prints.
    async fn code(&mut self) -> String {
        let line = self.says("pair-").await;
        line.split(['=', ' ']).next_back().unwrap().to_owned()
    }

    async fn ends(mut self) -> Connected {
        timeout(LONG, async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                self.said.push_str(&line);
                self.said.push('\n');
            }
            let mut errors = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut errors).await.unwrap();
            let code = self.child.wait().await.unwrap().code();
            Connected { code, said: self.said, errors }
        })
        .await
        .unwrap()
    }
}

#[tokio::test]
async fn from_init_to_an_answered_test_card_in_telegram() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let before = machine.config_text();
    let _daemon = machine.serve().await;
    let mut connecting = machine.connect("telegram", TOKEN, telegram.url(), &["--yes"]);
    let code = connecting.code().await;
    let hello = telegram.say(ANA.id, &format!("/start {code}"), ANA);
    assert_eq!(telegram.answer_to(ANA.id, hello).await, ARRIVED);
    let who = connecting.says("sent the code").await;
    assert_eq!(who, format!("Ana (id {}) sent the code from a private chat.", ANA.id));
    connecting.says("Press its button").await;
    let card = telegram.card(ANA.id).await;
    telegram.press(ANA.id, card.id, "Yes, it works", ANA).await;
    let ended = connecting.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.said.contains("Ana (telegram) pressed: it works."), "{ended:?}");
    assert!(ended.said.contains("countersign connect claude-code"), "{ended:?}");
    assert!(!ended.said.contains('\u{2580}'), "no QR code in a pipe");
    machine.report("telegram");
    // The config differs in these lines only, and is still for its owner alone.
    let after = machine.config_text();
    let new: Vec<_> = after.lines().filter(|line| !before.contains(*line)).collect();
    let expected = [
        "token = \"7000:a-token-for-tests\"                     # from @BotFather".to_owned(),
        format!("targets = [{{ chat = {} }}]", ANA.id),
        format!("api_url = \"{}\"", telegram.url()),
        format!("telegram = [{}]", ANA.id),
    ];
    assert_eq!(new, expected);
    let mode = fs::metadata(machine.config()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let files = ["approver.token", "countersign.toml", "countersign.toml.1.bak"];
    assert_eq!(machine.files(), files);
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn from_nothing_to_an_answered_test_card_in_discord() {
    let (discord, machine) = (FakeDiscord::start().await, Machine::new());
    let token = discord.token();
    let mut connecting = machine.connect("discord", token, discord.url(), &["--yes"]);
    connecting.says("Made ").await;
    connecting.says("The token is countersign's.").await;
    let _daemon = machine.serve().await;
    let code = connecting.code().await;
    let ana = Person::new("4211", "Ana");
    let (written, channel) = discord.write_directly(&code, &ana).await;
    assert_eq!(discord.answer_to(&written).await, ARRIVED);
    connecting.says("Press its button").await;
    let card = discord.until(|it| it.text.contains("Does this card reach you?")).await;
    assert!(card.reference.starts_with(&channel), "{}", card.reference);
    discord.press(&card.reference, "Yes, it works", &ana).await;
    let ended = connecting.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.said.contains("/oauth2/authorize?client_id="), "{ended:?}");
    machine.report("discord");
    let config = machine.config_text();
    assert!(config.contains(&format!("targets = [{{ channel = \"{channel}\" }}]")), "{config}");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[cfg(feature = "slack")]
#[tokio::test]
async fn from_nothing_to_an_answered_test_card_in_slack() {
    use crate::slack_server::{FakeSlack, Person, Told};
    let (slack, machine) = (FakeSlack::start().await, Machine::new());
    let direct = "D0000000009";
    slack.add_channel(direct, "");
    let tokens = format!("{}\n{}", slack.token(), slack.app_token());
    let mut connecting = machine.connect("slack", &tokens, slack.url(), &["--yes"]);
    connecting.says("The tokens are fakebot in Test Team's.").await;
    let _daemon = machine.serve().await;
    let code = connecting.code().await;
    let ana = Person::new("U0000004211", "Ana");
    assert_eq!(slack.say(direct, &code, &ana).await, Told::Privately(ARRIVED.to_owned()));
    connecting.says("Press its button").await;
    let card = slack.until(|it| it.text.contains("Does this card reach you?")).await;
    assert!(card.reference.starts_with(direct), "{}", card.reference);
    slack.press(&card.reference, "Yes, it works", &ana).await;
    let ended = connecting.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    machine.report("slack");
    let config = machine.config_text();
    assert!(config.contains(&format!("targets = [{{ channel = \"{direct}\" }}]")), "{config}");
    assert!(config.contains("slack = [\"T0000000001/U0000004211\"]"), "{config}");
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_code_is_used_once_and_a_second_person_learns_no_more_than_a_stranger() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let _daemon = machine.serve().await;
    let options = ["--yes", "--no-test"];
    let mut connecting = machine.connect("telegram", TOKEN, telegram.url(), &options);
    let code = connecting.code().await;
    let first = telegram.say(ANA.id, &format!("/start {code}"), ANA);
    assert_eq!(telegram.answer_to(ANA.id, first).await, ARRIVED);
    assert_eq!(connecting.ends().await.code, Some(0));
    let second = telegram.say(BEN.id, &format!("/start {code}"), BEN);
    assert_eq!(telegram.answer_to(BEN.id, second).await, REFUSED);
    assert!(!BEN.is_named_in(&machine.config_text()));
}

#[tokio::test]
async fn a_code_that_has_expired_ends_connect_and_lets_nobody_in() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let Some((_daemon, late)) = machine.serve_by_late_clock().await else { return };
    let mut connecting = machine.connect("telegram", TOKEN, telegram.url(), &["--yes"]);
    let code = connecting.code().await;
    fs::write(late, "").unwrap();
    let sent = telegram.say(ANA.id, &format!("/start {code}"), ANA);
    assert_eq!(telegram.answer_to(ANA.id, sent).await, REFUSED);
    let ended = connecting.ends().await;
    let why = "nobody sent the code within 10 minutes; run this again for a new one";
    assert!(ended.code == Some(1) && ended.errors.contains(why), "{ended:?}");
    assert!(!ANA.is_named_in(&machine.config_text()));
}

#[tokio::test]
async fn nothing_is_granted_before_the_terminal_agrees_and_a_strangers_code_is_refused() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let _daemon = machine.serve().await;
    // Nobody is at this terminal to agree.
    let mut connecting = machine.connect("telegram", TOKEN, telegram.url(), &[]);
    let code = connecting.code().await;
    let stranger = telegram.say(EVE.id, "/start pair-AAAAAAAAAAAAAAAAAAAAAA", EVE);
    assert_eq!(telegram.answer_to(EVE.id, stranger).await, REFUSED);
    let ana = telegram.say(ANA.id, &format!("/start {code}"), ANA);
    assert_eq!(telegram.answer_to(ANA.id, ana).await, ARRIVED);
    let ended = connecting.ends().await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.errors.contains("no terminal to confirm this on"), "{ended:?}");
    let config = machine.config_text();
    assert!(config.contains(TOKEN) && !config.contains(&format!("[{}]", ANA.id)), "{config}");
    assert!(config.contains("# telegram = [12345]"), "{config}");
}

#[tokio::test]
async fn a_wrong_token_an_unreachable_platform_and_a_rate_limit_are_told_apart() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let before = machine.config_text();
    let wrong = machine.connect("telegram", "1:wrong", telegram.url(), &[]).ends().await;
    assert!(wrong.errors.contains("does not accept `[telegram] token`"), "{wrong:?}");
    telegram.fail("getMe", Fault::RetryAfter(7), 1);
    let limited = machine.connect("telegram", TOKEN, telegram.url(), &[]).ends().await;
    assert!(limited.errors.contains("Telegram asks to wait 7 s"), "{limited:?}");
    telegram.set_down(true);
    let away = machine.connect("telegram", TOKEN, telegram.url(), &[]).ends().await;
    assert!(away.errors.contains("Telegram cannot be reached"), "{away:?}");
    let discord = FakeDiscord::start().await;
    let refused = machine.connect("discord", "wrong", discord.url(), &[]).ends().await;
    assert!(refused.errors.contains("Discord refuses the token"), "{refused:?}");
    discord.set_down(true);
    let token = discord_server::TOKEN;
    let gone = machine.connect("discord", token, discord.url(), &[]).ends().await;
    assert!(gone.errors.contains("Discord cannot be reached"), "{gone:?}");
    for ended in [&wrong, &limited, &away, &refused, &gone] {
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.errors.contains("The config is as it was."), "{ended:?}");
    }
    for ended in [&limited, &away, &gone] {
        assert!(!ended.errors.contains("token"), "the token is not blamed: {ended:?}");
    }
    assert_eq!(machine.config_text(), before);
}

#[tokio::test]
async fn a_group_is_connected_with_what_the_bot_lacks_there() {
    let (telegram, machine) = (Telegram::start().await, Machine::new());
    machine.run(&["init"]).await;
    let _daemon = machine.serve().await;
    let options = ["--yes", "--group"];
    let mut connecting = machine.connect("telegram", TOKEN, telegram.url(), &options);
    let link = connecting.says("https://").await;
    let (_, code) = link.split_once("?startgroup=").unwrap();
    let sent = telegram.say(GROUP, &format!("/start@countersign_test_bot {code}"), ANA);
    assert_eq!(telegram.answer_to(GROUP, sent).await, ARRIVED);
    connecting.says("from the group “Team”.").await;
    connecting.says("Privacy mode is on").await;
    let card = telegram.card(GROUP).await;
    telegram.press(GROUP, card.id, "Yes, it works", ANA).await;
    assert_eq!(connecting.ends().await.code, Some(0));
    assert!(machine.config_text().contains(&format!("targets = [{{ chat = {GROUP} }}]")));
}

#[tokio::test]
async fn who_is_connected_already_is_told_so_and_can_add_a_channel() {
    let (discord, machine) = (FakeDiscord::start().await, Machine::new());
    machine.run(&["init"]).await;
    let _daemon = machine.serve().await;
    let (token, ana) = (discord.token(), Person::new("4211", "Ana"));
    let options = ["--yes", "--no-test"];
    let mut connecting = machine.connect("discord", token, discord.url(), &options);
    let code = connecting.code().await;
    discord.write_directly(&code, &ana).await;
    assert_eq!(connecting.ends().await.code, Some(0));
    let (config, files) = (machine.config_text(), machine.files());
    let again = machine.run(&["connect", "discord", "--no-test"]).await;
    assert!(again.contains("It is connected already: 1 on discord may answer"), "{again}");
    assert_eq!((machine.config_text(), machine.files()), (config, files));
    let options = ["--yes", "--no-test", "--group"];
    let mut connecting = machine.connect("discord", token, discord.url(), &options);
    let code = connecting.code().await;
    discord.mention_bot(&code, &ana).await;
    connecting.says("New cards mention nobody").await;
    assert_eq!(connecting.ends().await.code, Some(0));
    let config = machine.config_text();
    let targets = format!("}}, {{ channel = \"{}\" }}]", discord_server::CHANNEL);
    assert!(config.contains(&targets) && config.contains("discord = [4211]"), "{config}");
}

#[tokio::test]
async fn an_agent_neither_makes_nor_reads_pairings_and_an_approver_is_greeted_as_one() {
    let telegram = Telegram::start().await;
    let config = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {} }}]\n\
         [approvers]\ntelegram = [{}]\n",
        telegram.url(),
        ANA.id,
        ANA.id
    );
    let daemon = Daemon::start(&config).await;
    let begin = json!({"platform": "telegram"});
    let (status, body) = daemon.post("/v1/pairings", AGENT, &begin).await;
    assert_eq!(
        (status, body),
        (403, json!({"error": "pairing a phone needs the approver's token"}))
    );
    let (status, pairing) = daemon.post("/v1/pairings", APPROVER, &begin).await;
    assert_eq!(status, 200, "{pairing}");
    let path = format!("/v1/pairings/{}", pairing["id"].as_str().unwrap());
    assert_eq!(daemon.get(&path, AGENT).await.0, 403);
    assert_eq!(daemon.get(&path, APPROVER).await, (200, json!({"state": "waiting"})));
    let other = json!({"platform": "inbox"});
    assert_eq!(daemon.post("/v1/pairings", APPROVER, &other).await.0, 404);
    let hello = telegram.say(ANA.id, "/start", ANA);
    let greeted = telegram.answer_to(ANA.id, hello).await;
    assert!(greeted.starts_with("Connected: "), "{greeted}");
    assert_eq!(daemon.get("/v1/pairings/none", APPROVER).await.0, 404);
    assert_ne!(pairing["code"], Value::Null);
}

#[tokio::test]
async fn doctor_says_that_no_phone_is_connected_and_that_the_daemon_runs_an_earlier_config() {
    let daemon = Daemon::start("").await;
    let doctor = async || {
        let ended = daemon.command(&["doctor"]).output().await.unwrap();
        String::from_utf8(ended.stdout).unwrap()
    };
    let fresh = doctor().await;
    assert!(fresh.contains("fix: countersign connect telegram"), "{fresh}");
    assert!(!fresh.contains("countersign reload"), "{fresh}");
    daemon.write_config("[policy]\ntimeout = \"7m\"\n");
    let changed = doctor().await;
    assert!(changed.contains("the daemon runs with an earlier version of this file"), "{changed}");
    assert!(changed.contains("fix: countersign reload"), "{changed}");
    // As after `init --force`: the daemon would refuse the reload.
    let config = fs::read_to_string(daemon.config()).unwrap();
    private_file(&daemon.config(), &config.replace(APPROVER, "another-approver-token"));
    let other = doctor().await;
    assert!(other.contains("fix: restart `countersign serve`"), "{other}");
    assert!(!other.contains("fix: countersign reload"), "{other}");
}
