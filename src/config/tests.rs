#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::{read, *};
use crate::platforms::{BUILT_IN, Registered};
use countersign_domain::requirement::VoteCount;
use countersign_gate::ask::plan::PlannedTarget;
use countersign_people::{
    approvers::{Members, NamedPerson, People, RoleGroup},
    duty::Hours,
    routes::{RouteEscalation, RouteTarget, Routes, ScheduledDigest, TargetRoute},
    rules::{AllowedBy, AnswerRule, AskConditions, Excluded, ReviewRule},
};
use countersign_port::{Setting, Settings, Target};
use countersign_store::Database;
use countersign_tokens::secret::{Secret, Token};
use countersign_web::connections;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    time::Duration,
};

fn places() -> Places {
    Places {
        home: "/home/ana".into(),
        config: "/home/ana/.config/countersign".into(),
        state: "/home/ana/.local/state/countersign".into(),
        runtime: Some("/run/user/7/countersign".into()),
    }
}

fn store(file: &str) -> StoreSettings {
    StoreSettings {
        database: Database::Sqlite(file.into()),
        keep: Duration::from_secs(30 * 86_400),
    }
}

fn read(toml: &str) -> Result<Config, Vec<String>> {
    read_with(toml, &[])
}

fn read_with(toml: &str, env: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    read::config(Some(("/etc/c.toml".into(), toml.into())), env, &places(), BUILT_IN)
}

/// An account on the platform with this name.
fn account(name: &str, token: &str, api_url: &str, targets: &[&str]) -> ChatAccount {
    let registered = BUILT_IN.iter().find(|it| it.name == name).unwrap();
    let token = Setting::Secret(token.into());
    let api_url = Setting::Text(api_url.into());
    ChatAccount {
        platform: registered.platform.unwrap(),
        settings: Settings::from([("token", token), ("api_url", api_url)]),
        targets: targets.iter().map(|target| Target((*target).to_owned())).collect(),
        names: vec![],
        direct: vec![],
        threads: vec![],
    }
}

fn mistakes(toml: &str) -> Vec<String> {
    read(toml).unwrap_err()
}

fn defaults() -> Config {
    Config {
        path: Some("/etc/c.toml".into()),
        version: None,
        platforms: BUILT_IN,
        daemon: DaemonSettings {
            socket: "/run/user/7/countersign/countersign.sock".into(),
            listen: "127.0.0.1:7117".parse().unwrap(),
            public_url: None,
            passkeys: None,
            allowed_hosts: vec![],
            push: Some(PushShows::Line),
            agent_token: None,
            approver_token: None,
            state_dir: "/home/ana/.local/state/countersign".into(),
        },
        client: ClientSettings {
            url: vec![Server::Unix("/run/user/7/countersign/countersign.sock".into())],
            token: None,
            insecure_http: false,
            ca_file: None,
        },
        store: store("/home/ana/.local/state/countersign/countersign.db"),
        policy: PolicySettings {
            profile: Profile::Standard,
            mode: None,
            rules: None,
            compat: false,
            timeout: None,
            late_yes: None,
            on_timeout: None,
        },
        chats: Vec::new(),
        left_out: Vec::new(),
        approvers: ApproverSettings::default(),
        routes: Routes::default(),
        reviews: Vec::new(),
        limits: LimitSettings::default(),
        agents: AgentSettings::default(),
        log: LogSettings::default(),
        oidc: None,
        ntfy: None,
    }
}

#[test]
fn an_empty_file_and_the_template_mean_the_defaults() {
    assert_eq!(read(""), Ok(defaults()));
    assert_eq!(read(&template(BUILT_IN)), Ok(defaults()));
    let none = read::config(None, Vec::new(), &places(), BUILT_IN).unwrap();
    assert_eq!(none, Config { path: None, ..defaults() });
}

#[test]
fn every_key_of_the_template_is_a_known_one() {
    let template = template(BUILT_IN);
    let keys = template.lines().filter_map(|line| {
        let line = line.strip_prefix("# ")?;
        let key = line.split_once(" = ")?.0;
        let plain = key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        (plain || line.starts_with('[')).then_some(line)
    });
    let sections = template.lines().filter(|line| line.starts_with("# ["));
    assert_eq!((keys.count(), sections.count()), (66, 5));
    let uncommented: String = template
        .lines()
        .map(|line| {
            let bare = line.strip_prefix("# ").unwrap_or(line);
            let is_key = bare
                .split_once(" = ")
                .is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            if is_key || bare.starts_with('[') { format!("{bare}\n") } else { String::new() }
        })
        .collect();
    // Makes each token different.
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let filled =
        uncommented.replacen("sha256:…", &hash("0"), 1).replacen("sha256:…", &hash("1"), 1);
    let filled = filled.replacen("\"…\"", "\"agent\"", 1).replacen("\"…\"", "\"bot\"", 1);
    let config = read(&filled).unwrap();
    let targets: Vec<_> = config.chats.iter().map(|it| (it.name(), it.targets.len())).collect();
    assert_eq!(targets, [("telegram", 2), ("discord", 1), ("slack", 1)]);
    assert_eq!(config.approvers.inbox, Some(true));
}

#[test]
fn the_lists_in_the_template_are_read_as_they_stand_there() {
    let template = template(BUILT_IN);
    let lists: Vec<_> = template.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let chat = "[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = -1, name = \"ops-room\" }]\n";
    let config = read(&format!("{chat}{}", lists.join("\n"))).unwrap();
    let ApproverSettings { people, rules, .. } = &config.approvers;
    assert_eq!((people.named.len(), rules.len()), (2, 1));
    assert_eq!((config.routes.rotas.len(), config.routes.list.len()), (1, 1));
    assert_eq!(config.routes.list[0].to.len(), 2);
    assert_eq!(config.reviews.len(), 1);
}

#[test]
fn a_route_to_the_inbox_alone_is_refused_where_nobody_may_answer_there() {
    let route = "[[routes]]\nfolder = \"/x/**\"\nto = \"inbox\"\n";
    let chat = "[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = -1, name = \"room\" }]\n";
    let listed = "[approvers]\ntelegram = [5]\n";
    let why = mistakes(&format!("{chat}{route}{listed}"));
    assert_eq!(why.len(), 1, "{why:?}");
    assert!(why[0].contains("in the inbox alone, where nobody may answer"), "{why:?}");
    let both = route.replace("\"inbox\"", "[\"inbox\", \"room\"]");
    let named = "[[people]]\nname = \"Ana\"\ntelegram = 5\n";
    for config in [
        format!("{chat}{both}{listed}"),
        format!("{chat}{route}{listed}inbox = true\n"),
        format!("{chat}{route}{named}"),
        route.to_owned(),
    ] {
        assert!(read(&config).is_ok(), "{config}");
    }
}

#[test]
fn the_reference_in_docs_names_every_key_of_every_section_and_no_other() {
    let page = include_str!("../../docs/config.md");
    let mut documented = BTreeMap::<&str, BTreeSet<&str>>::new();
    let mut section = None;
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.strip_prefix("`[").and_then(|rest| rest.strip_suffix("]`"));
        } else if let (Some(name), Some(item)) = (section, line.strip_prefix("- `")) {
            // An item may be about several keys: "- `agent`, `session`: …".
            let keys = item.split_once(": ").unwrap().0.split('`').step_by(2);
            documented.entry(name).or_default().extend(keys);
        }
    }
    // An unknown key that resembles no other gets the list of all known keys.
    let known = |name: &str| {
        let problems = mistakes(&format!("[{name}]\nqqq = 1\n"));
        let unknown = problems.iter().find_map(|it| it.split_once("it has ").map(|it| it.1));
        unknown.unwrap().split(", ").map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let sections = mistakes("[qqq]\n").remove(0);
    for (name, keys) in &documented {
        assert!(sections.contains(name.trim_matches(['[', ']'])), "{sections}");
        assert_eq!(keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>(), known(name));
    }
    assert_eq!(
        sections.split_once("the sections are ").unwrap().1.split(", ").count(),
        documented.len()
    );
}

#[test]
fn everything_can_be_set() {
    let config = read(
        r#"
        [daemon]
        socket = "c.sock"
        listen = "[::1]:0"
        public_url = "https://approve.example:8443/"
        passkeys = false
        allowed_hosts = ["box.tail.example", "fd00::5"]
        push = "count"
        agent_token = "agent"
        approver_token = "approver"
        state_dir = "~/state"
        [client]
        url = "https://far.example:8443"
        token = "agent"
        ca_file = "ca.pem"
        [store]
        url = "sqlite:asks.db"
        [policy]
        profile = "molf"
        mode = "yolo"
        rules = "/rules.jsonc"
        compat = true
        timeout = "1h 30m"
        late_yes = "2h"
        on_timeout = "approve"
        approve_on_timeout = ["read_file"]
        [telegram]
        token = "1:a"
        api_url = "http://127.0.0.1:81/"
        targets = [{ chat = -100, topic = 7 }, { chat = 5 }]
        [discord]
        token = "d"
        targets = [{ channel = "9" }, { channel = 10 }]
        [approvers]
        telegram = [12345, "6"]
        discord = ["7"]
        discord_roles = ["8"]
        inbox = false
        quorum = 1
        four_eyes = false
        [limits]
        connections = 9
        connections_per_peer = 3
        open_asks = 8
        open_asks_per_agent = 7
        open_asks_per_session = 4
        asks_per_minute_per_agent = 2
        asks_per_minute_per_session = 1
        open_megabytes = 6
        open_megabytes_per_agent = 5
        [agents]
        codex = "~/.codex"
        person_said = true
        [log]
        file = "log.jsonl"
        syslog = "udp://log.example:514"
        webhook = "https://logs.example/x"
        webhook_secret = "signs"
        [oidc]
        issuer = "https://login.example/realm/"
        client_id = "inbox"
        client_secret = "shared"
        claim = "email"
        group = "approvers"
        scopes = ["groups"]
        session = "8h"
        ca_file = "idp.pem"
        [ntfy]
        url = "https://ntfy.example"
        topic = "approve_7f3a"
        token = "tk_1"
        "#,
    )
    .unwrap();
    let plain = |text: &str| Some(Token::Plain(Secret::new(text)));
    let expected = Config {
        path: Some("/etc/c.toml".into()),
        version: None,
        platforms: BUILT_IN,
        daemon: DaemonSettings {
            socket: "/etc/c.sock".into(),
            listen: "[::1]:0".parse().unwrap(),
            public_url: Some(PublicUrl {
                host: "approve.example".into(),
                origin: "https://approve.example:8443".into(),
            }),
            passkeys: Some(false),
            allowed_hosts: vec!["box.tail.example".into(), "fd00::5".into()],
            push: Some(PushShows::Count),
            agent_token: plain("agent"),
            approver_token: plain("approver"),
            state_dir: "/home/ana/state".into(),
        },
        client: ClientSettings {
            url: vec![Server::Http("https://far.example:8443".parse().unwrap())],
            token: Some(Secret::new("agent")),
            insecure_http: false,
            ca_file: Some("/etc/ca.pem".into()),
        },
        store: store("/etc/asks.db"),
        policy: PolicySettings {
            profile: Profile::Molf,
            mode: Some("yolo".into()),
            rules: Some("/rules.jsonc".into()),
            compat: true,
            timeout: Some(Duration::from_secs(5400)),
            late_yes: Some(Duration::from_secs(7200)),
            on_timeout: Some(OnTimeout::Approve(vec!["read_file".into()])),
        },
        chats: vec![
            account("telegram", "1:a", "http://127.0.0.1:81", &["-100/7", "5"]),
            account("discord", "d", "https://discord.com", &["9", "10"]),
        ],
        left_out: Vec::new(),
        approvers: ApproverSettings {
            chats: BTreeMap::from([
                ("telegram".into(), Members::people(["12345", "6"])),
                (
                    "discord".into(),
                    Members { roles: ["8".into()].into(), ..Members::people(["7"]) },
                ),
            ]),
            inbox: Some(false),
            people: People::default(),
            rules: Vec::new(),
        },
        routes: Routes::default(),
        reviews: Vec::new(),
        limits: LimitSettings {
            connections: connections::ConnectionLimits { connections: 9, per_peer: 3 },
            open: countersign_gate::Limits {
                asks: 8,
                asks_per_agent: 7,
                asks_per_session: 4,
                asks_a_minute_per_agent: 2,
                asks_a_minute_per_session: 1,
                bytes: 6 << 20,
                bytes_per_agent: 5 << 20,
            },
        },
        agents: AgentSettings { codex: Some("/home/ana/.codex".into()), person_said: true },
        log: LogSettings {
            file: Some("/etc/log.jsonl".into()),
            syslog: Some(SyslogAddress::Udp("log.example:514".into())),
            webhook: Some(LogWebhook {
                url: "https://logs.example/x".into(),
                secret: Secret::new("signs"),
            }),
        },
        oidc: Some(OidcSettings {
            issuer: "https://login.example/realm/".into(),
            client_id: "inbox".into(),
            client_secret: Some(Secret::new("shared")),
            claim: OidcClaim::VerifiedEmail,
            group: Some("approvers".into()),
            scopes: vec!["groups".into()],
            session: Duration::from_secs(8 * 3600),
            ca_file: Some("/etc/idp.pem".into()),
        }),
        ntfy: Some(NtfyConfig {
            url: "https://ntfy.example".into(),
            topic: Secret::new("approve_7f3a"),
            token: Some(Secret::new("tk_1")),
            person: None,
            public: Some("https://approve.example:8443".into()),
        }),
    };
    assert_eq!(config, expected);
}

#[test]
fn the_environment_overrides_any_key_and_secrets_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bot");
    std::fs::write(&file, "1:from-file\n").unwrap();
    let config = read_with(
        "[policy]\ntimeout = \"1m\"",
        &[
            ("COUNTERSIGN__POLICY__TIMEOUT", "90"),
            ("COUNTERSIGN__DAEMON__LISTEN", "127.0.0.1:0"),
            ("COUNTERSIGN__CLIENT__TOKEN", "123456"),
            ("COUNTERSIGN__APPROVERS__TELEGRAM", "[5]"),
            ("COUNTERSIGN__TELEGRAM__TOKEN_FILE", file.to_str().unwrap()),
            ("COUNTERSIGN__TELEGRAM__TARGETS", "[{chat = -1}]"),
        ],
    );
    let mut expected = defaults();
    expected.policy.timeout = Some(Duration::from_secs(90));
    expected.daemon.listen = "127.0.0.1:0".parse().unwrap();
    expected.client.token = Some(Secret::new("123456"));
    expected.approvers.chats = BTreeMap::from([("telegram".into(), Members::people(["5"]))]);
    let url = "https://api.telegram.org";
    expected.chats = vec![account("telegram", "1:from-file", url, &["-1"])];
    assert_eq!(config, Ok(expected));
}

#[test]
fn unknown_names_are_mistakes_with_their_place_and_the_nearest_valid_one() {
    assert_eq!(
        mistakes("top = 1\n[polcy]\n[policy]\n  tiemout = \"5m\"\nxyz = 1\n"),
        [
            "/etc/c.toml:4:3: unknown key `tiemout` in [policy]; did you mean `timeout`?",
            "/etc/c.toml:5:1: unknown key `xyz` in [policy]; it has approve_on_timeout, profile, \
             mode, rules, compat, timeout, late_yes, on_timeout",
            "/etc/c.toml:2:2: unknown section [polcy]; did you mean [policy]?",
            "/etc/c.toml:1:1: unknown key `top` outside a section; the sections are daemon, \
             client, store, policy, telegram, discord, slack, approvers, people, groups, \
             answer_rules, reviews, routes, rotas, digest, limits, agents, log, oidc, ntfy",
        ]
    );
    assert_eq!(
        mistakes("[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = 1, topc = 2 }]"),
        ["/etc/c.toml:3:24: unknown key `topc` in [telegram.targets]; did you mean `topic`?"]
    );
    let env = [("COUNTERSIGN__POLICY__TIEMOUT", "5m"), ("COUNTERSIGN__X", "1")];
    assert_eq!(
        read_with("", &env).unwrap_err(),
        [
            "COUNTERSIGN__X: names no key; it must be COUNTERSIGN__SECTION__KEY",
            "COUNTERSIGN__POLICY__TIEMOUT: unknown key `tiemout` in [policy]; did you mean \
             `timeout`?",
        ]
    );
}

#[test]
fn an_identity_provider_needs_https_a_public_address_and_ids_of_its_claim() {
    let public = "[daemon]\npublic_url = \"https://approve.example\"\n";
    let oidc = "[oidc]\nissuer = \"https://login.example\"\nclient_id = \"inbox\"\n";
    let ana = "[[people]]\nname = \"Ana\"\noidc = \"Ana@Example.org\"\n";
    let ids = |config: &str| read(config).unwrap().approvers.people.named[0].identities.clone();
    let of = |id: &str| BTreeMap::from([("oidc".to_owned(), [id.to_owned()].into())]);
    assert_eq!(ids(&format!("{public}{oidc}{ana}")), of("Ana@Example.org"));
    let email = format!("{public}{oidc}claim = \"email\"\n");
    assert_eq!(ids(&format!("{email}{ana}")), of("ana@example.org"));
    let both = format!("{email}{ana}{}", ana.replace("Ana\"", "Ben\"").replace("Ana@", "ANA@"));
    let http = oidc.replace("https:", "http:");
    for (config, why) in [
        (
            oidc.to_owned(),
            "1:2: [oidc] needs `public_url` in [daemon]: the identity provider \
                           sends browsers back to it",
        ),
        (
            format!("{public}[oidc]\n"),
            "3:2: [oidc] has no `issuer`; the address of your identity provider",
        ),
        (
            format!("{public}{http}"),
            "4:10: [oidc] `issuer` must be an https address such as \
                                     \"https://login.example.org\"",
        ),
        (
            format!("{public}{oidc}claim = \"name\"\n"),
            "6:9: [oidc] `claim` must be \"sub\" or \
                                     \"email\" (which counts where it is verified)",
        ),
        (
            ana.to_owned(),
            "3:8: [[people]] `oidc` needs [oidc], which says who the identity provider is",
        ),
        (
            both,
            "10:1: [[people]] gives `oidc` ana@example.org to `Ana` and to `Ben`; an identity \
                belongs to one person",
        ),
    ] {
        let said = mistakes(&config);
        assert!(said.iter().any(|it| it == &format!("/etc/c.toml:{why}")), "{why}: {said:#?}");
    }
    // Passkeys that are asked for and cannot be.
    for url in [
        "",
        "http://127.0.0.1:7117",
        "https://192.0.2.7",
        "https://[::1]",
        "https://localhost",
        "https://x.localhost",
    ] {
        let key = format!("public_url = \"{url}\"\n");
        let key = if url.is_empty() { "" } else { &key };
        let said = mistakes(&format!("[daemon]\npasskeys = true\n{key}"));
        let why = "[daemon] needs a `public_url` with https and a host name for `passkeys`: \
                   browsers make none for an IP address, plain http or localhost";
        assert!(said.len() == 1 && said[0].ends_with(why), "{url}: {said:?}");
        assert!(read(&format!("[daemon]\n{key}")).is_ok(), "{url}");
    }
    assert!(read(&format!("{public}passkeys = true\n")).is_ok());
    let here = format!("[daemon]\npublic_url = \"http://localhost:7117\"\n{http}");
    let said = mistakes(&here);
    let why = "with 127.0.0.1, not localhost";
    assert!(said.iter().any(|it| it.ends_with(why)), "{said:?}");
}

#[test]
fn wrong_values_are_mistakes_that_say_what_is_accepted() {
    let cases = [
        (
            "[daemon]\nlisten = 7117",
            "2:10: [daemon] `listen` must be a text in quotes; this is a number",
        ),
        (
            "[daemon]\nlisten = \"7117\"",
            "2:10: [daemon] `listen` must be an address and a port such as \"127.0.0.1:7117\"",
        ),
        (
            "[daemon]\npublic_url = \"http://approve.example\"",
            "2:14: [daemon] `public_url` is plain http to another machine, where browsers give \
             the page no cryptography and anybody on the way can read it; use https",
        ),
        (
            "[daemon]\npublic_url = \"https://approve.example/inbox\"",
            "2:14: [daemon] `public_url` must be the address of the inbox, such as \
             \"https://approve.example.org\": a scheme, a host and a port, and nothing after them",
        ),
        (
            "[daemon]\nallowed_hosts = [\"*.example\"]",
            "2:17: [daemon] `allowed_hosts` must be host names without a port, not \"*.example\"",
        ),
        (
            "[daemon]\nallowed_hosts = [\"box.example:80\"]",
            "2:17: [daemon] `allowed_hosts` must be host names without a port, not \
             \"box.example:80\"",
        ),
        (
            "[daemon]\nagent_token = \"\"",
            "2:15: [daemon] `agent_token` is empty; `countersign init` makes a fresh one",
        ),
        (
            "[daemon]\nagent_token = \"sha256:1\"",
            "2:15: [daemon] `agent_token` must have 64 hex digits after `sha256:`",
        ),
        (
            "[client]\nurl = \"ftp://x\"",
            "2:7: [client] `url` must be \"unix:PATH\" or \"https://HOST:PORT\"",
        ),
        (
            "[client]\nurl = \"http://10.0.0.1:7117\"",
            "2:7: [client] `url` is plain http to another machine, which anybody on the way can \
             read and change; use https, or set insecure_http = true in [client]",
        ),
        (
            "[store]\nurl = \"mysql://x\"",
            "2:7: [store] `url` must be \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"",
        ),
        (
            "[store]\nurl = \"sqlite::memory:\"",
            "2:7: [store] `url` must be \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"",
        ),
        (
            "[policy]\nprofile = \"x\"",
            "2:11: [policy] `profile` \"x\" is unknown; use \"standard\", \"wcore\", \
             \"connectonion\", \"molf\", \"ohmypi\" or \"zeptoclaw\"",
        ),
        (
            "[policy]\ntimeout = \"soon\"",
            "2:11: [policy] `timeout` must be a duration such as \"5m\", \"90s\" or a number \
             of seconds",
        ),
        ("[policy]\ntimeout = 0", "2:11: [policy] `timeout` must be between 1 second and 365 days"),
        (
            "[policy]\ntimeout = -1.5",
            "2:11: [policy] `timeout` must be a duration such as \"5m\", \"90s\" or a number \
             of seconds",
        ),
        (
            "[policy]\ncompat = \"yes\"",
            "2:10: [policy] `compat` must be true or false; this is a text",
        ),
        (
            "[policy]\non_timeout = \"allow\"",
            "2:14: [policy] `on_timeout` \"allow\" is unknown; use \"deny\", \"wait\" or \
             \"approve\"",
        ),
        (
            "[policy]\non_timeout = \"approve\"",
            "2:14: [policy] `on_timeout` \"approve\" needs the tools by name, as \
             approve_on_timeout = [\"read_file\"]",
        ),
        (
            "[policy]\napprove_on_timeout = [\"*\"]",
            "2:22: [policy] `approve_on_timeout` must be whole names of tools, not \"*\"",
        ),
        (
            "[telegram]\napi_url = \"x\"",
            "1:2: [telegram] has no `token`; @BotFather hands them out",
        ),
        (
            "[telegram]\ntoken = \"1:a\"\ntargets = [5]",
            "3:12: [telegram] `targets` must be a list of tables; this is a number",
        ),
        (
            "[telegram]\ntoken = \"1:a\"\ntargets = [{ topic = 5 }]",
            "3:12: [telegram.targets] has no `chat`; it is the number of a chat",
        ),
        (
            "[discord]\ntoken = \"a\"\ntargets = [{ channel = \"general\" }]",
            "3:24: [discord.targets] `channel` must be numeric ids, because names can change hands; \
             this is a text",
        ),
        (
            "[approvers]\ntelegram = [\"@ana\"]",
            "2:12: [approvers] `telegram` must be numeric ids, because names can change hands; this \
             is a text",
        ),
        (
            "[approvers]\nquorum = 2",
            "2:10: [approvers] `quorum` must be 1: [[answer_rules]] with `approvals` \
             say where more people have to agree",
        ),
        (
            "[approvers]\nfour_eyes = true",
            "2:13: [approvers] `four_eyes` must be false: [[answer_rules]] with \
             `exclude = \"requester\"` say where it matters who asks",
        ),
        ("policy = 5", "1:1: `policy` must be a section, written as [policy]; this is a number"),
    ];
    for (toml, mistake) in cases {
        let first = mistakes(toml).into_iter().next();
        assert_eq!(first, Some(format!("/etc/c.toml:{mistake}")), "{toml}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_named_with_the_place_and_without_its_text() {
    let found = mistakes("[telegram]\ntoken = 'secret\n");
    assert_eq!(found, ["/etc/c.toml:2:16: invalid TOML: missing closing quote"]);
}

#[test]
fn plain_http_is_taken_on_this_machine_and_elsewhere_only_when_asked_for() {
    for url in ["http://127.0.0.1:7117", "http://localhost:1", "http://[::1]:1"] {
        let config = read(&format!("[client]\nurl = \"{url}\"")).unwrap();
        assert_eq!(config.client.url, [Server::Http(url.parse().unwrap())]);
    }
    let far = read("[client]\nurl = \"http://10.0.0.1:7117\"\ninsecure_http = true").unwrap();
    assert_eq!(far.client.url, [Server::Http("http://10.0.0.1:7117".parse().unwrap())]);
    assert!(read("[client]\nurl = \"http://127.0.0.1.evil.example\"").is_err());
}

#[test]
fn a_secret_file_that_cannot_be_read_is_a_mistake() {
    let env = [("COUNTERSIGN__DISCORD__TOKEN_FILE", "none")];
    assert_eq!(
        read_with("", &env).unwrap_err(),
        ["COUNTERSIGN__DISCORD__TOKEN_FILE: none cannot be read: No such file or directory (os \
          error 2)"]
    );
}

#[test]
fn a_platform_that_was_left_out_of_the_build_is_named_and_its_approvers_keep_local_answering_off() {
    static LEFT_OUT: &[Registered] = &[Registered { name: "discord", platform: None }];
    let toml = "[discord]\ntoken = \"d\"\nanything = 1\n[approvers]\ndiscord = [\"7\"]\n\
        discord_roles = [8]\n";
    let file = Some(("/etc/c.toml".into(), toml.into()));
    let config = read::config(file, Vec::new(), &places(), LEFT_OUT).unwrap();
    assert_eq!((config.chats, config.left_out), (Vec::new(), vec!["discord"]));
    assert_eq!(config.approvers.chats["discord"].count(), 2);
    let file = Some(("/etc/c.toml".into(), "[approvers]\ndiscordance = []\n".into()));
    let mistakes = read::config(file, Vec::new(), &places(), LEFT_OUT).unwrap_err();
    assert!(mistakes[0].contains("unknown key `discordance`"), "{mistakes:?}");
}

#[test]
fn a_topic_beyond_what_telegram_has_is_a_mistake_with_its_place() {
    let toml = "[telegram]\ntoken = \"1:a\"\ntargets = [{ chat = 1, topic = 3000000000 }]";
    assert_eq!(
        mistakes(toml),
        ["/etc/c.toml:3:12: [telegram.targets] `topic` is too large for a topic"]
    );
}

#[test]
fn people_are_read_with_their_identities_and_groups() {
    let toml = r#"
        [[people]]
        name = "Ana Sousa"
        telegram = 12345
        discord = ["7", "8"]
        groups = ["ops", "leads"]
        hosts = "mill"
        agents = "ana-bot"
        [[people]]
        name = "Ben"
        token = "a token of Ben's own"
        [[groups]]
        name = "ops"
        discord_roles = ["118"]
    "#;
    let ids = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<BTreeSet<_>>();
    let token = Token::parse("a token of Ben's own").unwrap().hash();
    let ana = NamedPerson {
        name: "Ana Sousa".into(),
        identities: [("telegram".into(), ids(&["12345"])), ("discord".into(), ids(&["7", "8"]))]
            .into(),
        token: None,
        groups: ids(&["ops", "leads"]),
        hosts: ids(&["mill"]),
        agents: ids(&["ana-bot"]),
        ..NamedPerson::default()
    };
    let ben = NamedPerson {
        name: "Ben".into(),
        identities: [("api".into(), ids(&[&token.id()]))].into(),
        token: Some(token),
        groups: ids(&[]),
        hosts: ids(&[]),
        agents: ids(&[]),
        ..NamedPerson::default()
    };
    let roles = [("discord".to_owned(), ids(&["118"]))].into();
    let groups = vec![RoleGroup { name: "ops".into(), roles }];
    let read = read(toml).unwrap();
    assert_eq!(read.approvers.people, People { named: vec![ana, ben], groups });
}

#[test]
fn every_mistake_about_people_is_reported_with_its_place() {
    let toml = r#"
        [daemon]
        agent_token = "of agents"
        [approvers]
        inbox = true
        [[people]]
        name = "Ana"
        telegram = 12345
        [[people]]
        name = "ana"
        telegram = [12345]
        token = "of agents"
        [[people]]
        telegram = "@ana"
        group = ["ops"]
        [[people]]
        name = "Ben\nBob"
        telegram = 6
        groups = ["on call"]
        [[people]]
        name = "Cleo"
        [[groups]]
        name = "ops"
        [[groups]]
        name = "ops"
        discord_roles = ["8"]
    "#;
    insta::assert_snapshot!(mistakes(toml).join("\n"));
}

#[test]
fn people_are_lists_of_tables_and_no_variable_changes_them() {
    let people = "[[people]]\nname = \"Ana\"\ntelegram = 1";
    let variable = [("COUNTERSIGN__PEOPLE__NAME", "Ben")];
    let wanted = ["COUNTERSIGN__PEOPLE__NAME: [[people]] is a list, which no variable overrides"];
    assert_eq!(read_with(people, &variable).unwrap_err(), wanted);
    let wanted = "/etc/c.toml:1:2: `people` must be entries, each written as [[people]]; this is a \
                  table";
    assert_eq!(mistakes("[people]\nname = \"Ana\""), [wanted]);
}

#[test]
fn answer_rules_are_read_in_their_order() {
    let toml = r#"
        [[people]]
        name = "Ana"
        telegram = 1
        groups = ["ops"]
        [[people]]
        name = "Ben"
        telegram = 2
        groups = ["ops"]
        [[answer_rules]]
        name = "push"
        command = ["git push *", "git tag *"]
        critical = false
        group = "ops"
        approvals = 2
        reason = "required"
        [[answer_rules]]
        agent = "claude-*"
        effect = "publishes"
        path = "/srv/**"
        distinct = false
        approvals = 3
        deny = 2
        exclude = "requester"
    "#;
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let push = AnswerRule {
        name: "push".into(),
        when: AskConditions {
            command: texts(&["git push *", "git tag *"]),
            critical: Some(false),
            ..AskConditions::default()
        },
        group: Some("ops".into()),
        approvals: 2,
        deny: 1,
        count: VoteCount::People,
        exclude: None,
        needs_reason: true,
    };
    let second = AnswerRule {
        name: "answer rule 2".into(),
        when: AskConditions {
            agent: texts(&["claude-*"]),
            effect: texts(&["publishes"]),
            path: texts(&["/srv/**"]),
            ..AskConditions::default()
        },
        group: None,
        approvals: 3,
        deny: 2,
        count: VoteCount::Accounts,
        exclude: Some(Excluded::Requester),
        needs_reason: false,
    };
    assert_eq!(read(toml).unwrap().approvers.rules, [push, second]);
}

#[test]
fn every_mistake_in_answer_rules_is_reported_with_its_place() {
    let toml = r#"
        [[people]]
        name = "Ana"
        telegram = 1
        groups = ["ops"]
        [[answer_rules]]
        command = "git push *"
        group = "opps"
        approvals = 99
        deny = 0
        [[answer_rules]]
        command = ""
        agent = "[a"
        effect = "publish"
        group = "ops"
        approvals = 2
        exclude = "everybody"
        [[answer_rules]]
        aproval = 2
        [[answer_rules]]
        group = "ops"
    "#;
    insta::assert_snapshot!(mistakes(toml).join("\n"));
}

#[test]
fn reviews_are_read_in_their_order_and_show_nothing_without_a_rate() {
    let toml = r#"
        [[reviews]]
        name = "quiet"
        agent = "quiet-*"
        [[reviews]]
        allowed_by = "grant"
        one_in = 1
        timeout = "2h"
        [[reviews]]
        command = ["git *", "make *"]
        one_in = 50
    "#;
    let day = 86_400_000;
    let rule = |name: &str, when, allowed_by, one_in, timeout_ms| ReviewRule {
        name: name.to_owned(),
        when,
        allowed_by,
        one_in: NonZeroU32::new(one_in),
        timeout_ms,
    };
    let quiet = AskConditions { agent: vec!["quiet-*".into()], ..Default::default() };
    let commands =
        AskConditions { command: vec!["git *".into(), "make *".into()], ..Default::default() };
    let expected = [
        rule("quiet", quiet, None, 0, day),
        rule("review 2", AskConditions::default(), Some(AllowedBy::Grant), 1, 7_200_000),
        rule("review 3", commands, None, 50, day),
    ];
    assert_eq!(read(toml).unwrap().reviews, expected);
    assert_eq!(read("").unwrap().reviews, []);
}

#[test]
fn every_mistake_in_reviews_is_reported_with_its_place() {
    let toml = "[[reviews]]\nagent = \"a\"\none_in = 0\n[[reviews]]\nallowed_by = \"mode\"\n\
                effect = \"publish\"\ncritical = true\nrate = 5\n[[reviews]]\none_in = 5\n\
                [[reviews]]\none_in = 2\n";
    assert_eq!(
        mistakes(toml),
        [
            "/etc/c.toml:3:10: [[reviews]] `one_in` must be a number from 1 (every call) to 1000000; \
             leave it out to show none",
            "/etc/c.toml:6:10: [[reviews]] `effect` names the effect `publish`; did you mean \
             `publishes`?",
            "/etc/c.toml:5:14: [[reviews]] `allowed_by` must be \"rule\" or \"grant\"",
            "/etc/c.toml:4:1: [[reviews]] has `critical`, and a critical call never runs without \
             asking",
            "/etc/c.toml:8:1: unknown key `rate` in [[reviews]]; it has name, agent, session, \
             host, folder, tool, command, path, effect, critical, allowed_by, one_in, timeout",
            "/etc/c.toml:11:1: [[reviews]] is never reached, because `review 3` before it has no \
             condition",
        ]
    );
}

const TARGETS: &str = r#"
[telegram]
token = "7:t"
targets = [{ chat = -100, name = "room" }, { chat = -100, topic = 7, name = "deploys" }]
[discord]
token = "d"
[[people]]
name = "Ana"
telegram = 11
discord = "22"
groups = ["ops"]
[[people]]
name = "Ben"
token = "a token of Ben's own"
groups = ["dev"]
"#;

#[test]
fn routes_name_targets_people_and_groups_and_chats_know_whom_they_write_to() {
    let routes = r#"
        [[routes]]
        name = "night"
        command = "git push *"
        time = "22:00-06:30"
        days = ["fri", "sat"]
        zone = "Europe/Rome"
        to = ["deploys", "person:Ana", "group:ops"]
        fallback = "room"
        remind = ["2m", "10m"]
        escalate = [{ after = "5m", to = "group:ops" }]
        [[routes]]
        to = "inbox"
    "#;
    let config = read(&format!("{TARGETS}{routes}")).unwrap();
    let planned = |adapter: &str, target: &str, name: &str| PlannedTarget {
        adapter: adapter.into(),
        target: target.into(),
        name: name.into(),
    };
    let ana = vec![planned("telegram", "11", "Ana"), planned("discord", "@22", "Ana")];
    let night = TargetRoute {
        name: "night".into(),
        when: AskConditions { command: vec!["git push *".into()], ..AskConditions::default() },
        during: Some(Hours {
            from: jiff::civil::time(22, 0, 0, 0),
            until: jiff::civil::time(6, 30, 0, 0),
            days: vec![jiff::civil::Weekday::Friday, jiff::civil::Weekday::Saturday],
            zone: jiff::tz::TimeZone::get("Europe/Rome").unwrap(),
        }),
        to: vec![
            RouteTarget::Chat(planned("telegram", "-100/7", "deploys")),
            RouteTarget::Person("Ana".into()),
            RouteTarget::Group("ops".into()),
        ],
        fallback: vec![RouteTarget::Chat(planned("telegram", "-100", "room"))],
        remind: vec![120_000, 600_000],
        escalate: vec![RouteEscalation {
            after_ms: 300_000,
            to: vec![RouteTarget::Group("ops".into())],
        }],
    };
    let rest = TargetRoute {
        name: "route 2".into(),
        to: vec![RouteTarget::Inbox],
        ..TargetRoute::default()
    };
    let direct = [("Ana".to_owned(), ana), ("Ben".to_owned(), vec![])].into();
    let named = [("deploys", "-100/7"), ("room", "-100")];
    let chats = named.map(|(name, at)| (name.to_owned(), planned("telegram", at, name))).into();
    assert_eq!(
        config.routes,
        Routes { list: vec![night, rest], direct, rotas: vec![], chats, digest: None }
    );
    let direct: Vec<_> = config.chats.iter().map(|chat| chat.direct.clone()).collect();
    assert_eq!(direct, [[Target("11".into())], [Target("@22".into())]]);
    // Nobody is written to for nothing.
    let config = read(TARGETS).unwrap();
    assert!(config.chats.iter().all(|chat| chat.direct.is_empty()));
}

#[test]
fn every_mistake_in_routes_is_reported_with_its_place() {
    let routes = r#"
        [[routes]]
        tool = "a"
        [[routes]]
        tool = "b"
        to = ["rom", "person:Anna", "person:Ben"]
        [[routes]]
        tool = "b"
        to = "person:Anna"
        [[routes]]
        tool = "c"
        to = "person:Ben"
        [[routes]]
        tool = "d"
        to = ["room", "group:dev"]
        time = "22-6"
        [[routes]]
        tool = "e"
        to = "team:ops"
        days = "fri"
        [[routes]]
        to = "room"
        zone = "Europe/Roma"
        [[routes]]
        to = "room"
    "#;
    let mistakes = mistakes(&format!("{TARGETS}{routes}"));
    let said: Vec<&str> =
        mistakes.iter().map(|it| it.split_once("] ").map_or(it.as_str(), |it| it.1)).collect();
    assert_eq!(
        said,
        [
            "says nothing; give `to`, `remind` or `escalate`",
            "`to` names the target `rom`; did you mean `room`?",
            "`to` names `Anna`, who is not in [[people]]; did you mean `Ana`?",
            "`to` names `Ben`, who is in no chat that is set up",
            "`time` must be hours such as \"22:00-06:00\"",
            "`to` names the group `dev`, of whom nobody is in a chat by name",
            "has hours without a `zone`, such as \"Europe/Rome\"",
            "`to` names `team:`; a target is \"inbox\", the name of a chat's target, \
             \"person:NAME\", \"group:NAME\" or \"duty:NAME\"",
            "`zone` names the time zone `Europe/Roma`, which this machine does not know; names \
             are such as \"Europe/Rome\"",
            "is never reached, because `route 7` before it has no condition",
        ]
    );
}

#[test]
fn a_digest_has_a_time_a_zone_and_targets_in_chats() {
    let digest = |more: &str| format!("{TARGETS}\n[digest]\n{more}\n");
    let config = read(&digest(
        "when = \"mon 9:00\"\nzone = \"Europe/Rome\"\nto = [\"room\", \"person:Ana\"]",
    ));
    let config = config.unwrap();
    let ScheduledDigest { time, to } = config.routes.digest.unwrap();
    assert_eq!(
        (time.day, time.at),
        (Some(jiff::civil::Weekday::Monday), jiff::civil::time(9, 0, 0, 0))
    );
    assert_eq!(to.len(), 2);
    // Who is written to has a worker for it.
    assert!(config.chats.iter().any(|chat| !chat.direct.is_empty()));
    let said = |more: &str| -> Vec<String> {
        let all = mistakes(&digest(more)).into_iter();
        all.map(|it| it.split_once("] ").map_or(it.clone(), |(_, why)| why.to_owned())).collect()
    };
    let wanted = "`when` must be a time such as \"daily 09:00\" or \"mon 09:00\"";
    for when in ["09:00", "monday 09:00", "mon", "daily 25:00", "mon tue 9:00"] {
        let all = said(&format!("when = \"{when}\"\nzone = \"UTC\"\nto = \"room\""));
        assert_eq!(all, [wanted], "{when}");
    }
    assert_eq!(
        said("when = \"daily 9:00\"\nto = [\"inbox\"]"),
        [
            "has no `zone`; name it, such as \"Europe/Rome\"",
            "`to` must name targets in chats; `countersign digest` prints it",
        ]
    );
    assert_eq!(said("")[0], "has no `when`; set \"daily 09:00\" or a day as in \"mon 09:00\"");
}

#[test]
fn where_the_log_is_sent_is_checked_when_it_is_read() {
    let unix = read("[log]\nsyslog = \"unix:/dev/log\"\n").unwrap().log;
    assert_eq!(unix.syslog, Some(SyslogAddress::Unix("/dev/log".into())));
    let wanted = "must be \"udp://HOST:PORT\", \"tcp://HOST:PORT\" or \"unix:/dev/log\"";
    for no in ["udp://log.example", "log.example:514", "unix:log", "tcp:log.example:1", ""] {
        let said = mistakes(&format!("[log]\nsyslog = \"{no}\"\n"));
        assert_eq!(said, [format!("/etc/c.toml:2:10: [log] `syslog` {wanted}")], "{no}");
    }
    let unsigned = mistakes("[log]\nwebhook = \"https://logs.example\"\n");
    assert!(unsigned.len() == 1 && unsigned[0].contains("`webhook_secret`"), "{unsigned:?}");
    assert_eq!(mistakes("[log]\nwebhook = \"ftp://x\"\nwebhook_secret = \"s\"\n").len(), 1);
}

#[test]
fn a_thread_for_each_session_is_a_key_of_a_target_that_can_have_threads() {
    let with = |more: &str| format!("[telegram]\ntoken = \"7:x\"\ntargets = [{{ {more} }}]\n");
    let idle = |more: &str| read(&with(more)).map(|config| config.chats[0].threads.clone());
    let target = || Target("-42".to_owned());
    let day = Duration::from_secs(86_400);
    assert_eq!(idle("chat = -42"), Ok(vec![]));
    assert_eq!(idle("chat = -42, per_session = false"), Ok(vec![]));
    assert_eq!(idle("chat = -42, per_session = true"), Ok(vec![(target(), day)]));
    let hours = Duration::from_secs(8 * 3600);
    assert_eq!(idle("chat = -42, per_session = \"8h\""), Ok(vec![(target(), hours)]));
    for (more, why) in [
        ("chat = -42, topic = 7, per_session = true", "a topic has no topics of its own"),
        ("chat = 42, per_session = true", "a private chat has no topics"),
        ("chat = -42, per_session = \"soon\"", "must be a duration"),
        ("chat = -42, per_session = 7", "must be true, false or a duration"),
    ] {
        let said = mistakes(&with(more)).join("\n");
        assert!(said.contains(why), "{more}: {said}");
    }
}

#[test]
fn administrators_of_a_group_are_named_by_its_number() {
    let named = |id: &str| format!("[[groups]]\nname = \"ops\"\ntelegram_admins = {id}\n");
    for id in ["-1001234567890", "\"-1001234567890\"", "[-1001234567890]"] {
        let people = read(&named(id)).unwrap().approvers.people;
        let roles = people.groups[0].roles.get("telegram").cloned();
        assert_eq!(roles, Some(["-1001234567890".to_owned()].into()), "{id}");
    }
    for id in ["42", "\"@team\"", "\"ops\""] {
        let said = mistakes(&named(id)).join("\n");
        assert!(said.contains("must be numbers of groups such as -1001234567890"), "{id}: {said}");
    }
}

#[test]
fn a_topic_is_one_persons_where_people_have_names_and_sends_what_push_shows() {
    let ntfy = "[ntfy]\nurl = \"https://ntfy.example\"\ntopic = \"approve_7f3a\"\n";
    let ana = "[[people]]\nname = \"Ana\"\ntelegram = 5\n";
    let person = |text: &str| read(text).unwrap().ntfy.unwrap().person;
    assert_eq!(person(ntfy), None);
    assert_eq!(person(&format!("{ntfy}person = \"Ana\"\n{ana}")), Some("telegram:5".to_owned()));
    for (text, why) in [
        (
            format!("{ntfy}{ana}"),
            "1:2: [ntfy] has no `person`; people answer by name here, so say whose topic it is",
        ),
        (
            format!("{ntfy}person = \"Eve\"\n{ana}"),
            "4:10: [ntfy] `person` must be the name of somebody in [[people]]",
        ),
        (
            format!("{ntfy}[daemon]\npush = \"off\"\n"),
            "1:2: [ntfy] sends what `push` in [daemon] shows, and that is \"off\"",
        ),
        (
            ntfy.replace("https:", "http:"),
            "2:7: [ntfy] `url` must be an https address such as \"https://ntfy.example.org\"",
        ),
        (
            ntfy.replace("approve_7f3a", "approve here"),
            "3:9: [ntfy] `topic` must be 1 to 64 letters, digits, `_` and `-`",
        ),
        (
            "[ntfy]\nurl = \"https://ntfy.example\"\n".to_owned(),
            "1:2: [ntfy] has no `topic`; a name that nobody guesses; your phone subscribes to it",
        ),
    ] {
        assert_eq!(mistakes(&text), [format!("/etc/c.toml:{why}")], "{text}");
    }
}
