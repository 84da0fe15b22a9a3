//! Builds a [`Config`] from TOML and the environment.

use super::{
    AgentSettings, ApproverSettings, ChatAccount, Config, DaemonSettings, PolicySettings,
    StoreSettings, answer_rules, chats, ntfy, oidc, people,
    routes::{self, RouteEntries},
    secrets,
    section::{
        self, ConfigEntries, ConfigNode, ConfigPlace, ConfigTable, ConfigValue, Section, flag,
        nearest, secret, text, wants,
    },
    values::{
        address, default_address, hosts, length, on_timeout, optional, path, profile, public_url,
        push, servers, token, tools,
    },
};
use crate::platforms::Registered;
use countersign_client::{ClientSettings, Places, Server};
use countersign_people::routes::Routes;
use countersign_profiles::Profile;
use countersign_store::Database;
use countersign_web::{OidcSettings, PublicUrl, PushShows};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The prefix of the environment variables that override keys.
pub(super) const PREFIX: &str = "COUNTERSIGN__";

/// The name of the daemon's socket where the config names none.
pub(crate) const SOCKET: &str = "countersign.sock";

/// The sections of every program; those of its platforms are listed between them.
const SECTIONS: [&str; 4] = ["daemon", "client", "store", "policy"];
const LAST_SECTIONS: [&str; 13] = [
    "approvers",
    "people",
    "groups",
    "answer_rules",
    "reviews",
    "routes",
    "rotas",
    "digest",
    "limits",
    "agents",
    "log",
    "oidc",
    "ntfy",
];

/// Reads a config.
///
/// # Errors
/// Every mistake, one sentence each.
pub(super) fn config(
    file: Option<(PathBuf, String)>,
    env: Vec<(String, String)>,
    places: &Places,
    platforms: &'static [Registered],
) -> Result<Config, Vec<String>> {
    let problems = chats::faults(platforms, &[SECTIONS.as_slice(), &LAST_SECTIONS].concat());
    let base = places.config.clone();
    let root = ConfigTable::new();
    let mut reader = ConfigReader { places, platforms, base, root, problems };
    let path = match file {
        Some((path, text)) => {
            reader.root = section::read_file(&path, &text).map_err(|problem| vec![problem])?;
            reader.base = path.parent().unwrap_or(Path::new(".")).to_path_buf();
            Some(path)
        }
        None => None,
    };
    for (name, value) in env {
        reader.overlay(&name, &value);
    }
    // Compared before the sections are read, while every token still has its place.
    reader.problems.extend(secrets::shared(&reader.root, &secrets::keys(platforms)));
    let base = reader.base.clone();
    let resolve = |path: &str| places.resolve(&base, path);
    // Read first: the defaults of client and store depend on its paths.
    let daemon = read_daemon(reader.section("daemon"), places, resolve);
    let left_out = reader.left_out();
    let mut chats = reader.chats();
    let oidc = oidc::read(reader.section("oidc"), daemon.public_url.as_ref(), resolve);
    let approvers = reader.approvers(oidc.as_ref());
    let ntfy = ntfy::read(reader.section("ntfy"), &daemon, &approvers.people);
    let routes = reader.routes(&approvers, &mut chats);
    let reviews = answer_rules::read_reviews(reader.entries("reviews"), &mut reader.problems);
    let config = Config {
        path,
        // Known to the one who has read the file.
        version: None,
        platforms,
        client: read_client(reader.section("client"), &daemon.socket, resolve),
        store: read_store(reader.section("store"), &daemon.state_dir, resolve),
        daemon,
        policy: read_policy(reader.section("policy"), resolve),
        left_out,
        chats,
        approvers,
        routes,
        reviews,
        limits: super::limits::read(reader.section("limits")),
        agents: read_agents(reader.section("agents"), resolve),
        log: super::log::read(reader.section("log"), resolve),
        oidc,
        ntfy,
    };
    reader.leftovers();
    if reader.problems.is_empty() { Ok(config) } else { Err(reader.problems) }
}

pub(super) struct ConfigReader<'a> {
    pub(super) places: &'a Places,
    pub(super) platforms: &'static [Registered],
    pub(super) base: PathBuf,
    pub(super) root: ConfigTable,
    pub(super) problems: Vec<String>,
}

impl ConfigReader<'_> {
    /// Removes a section from the tree.
    fn section(&mut self, name: &'static str) -> Section<'_> {
        let (place, table) = self.table(name).unzip();
        Section::new(name, place, table.unwrap_or_default(), &mut self.problems)
    }

    /// Removes the table of a section, so that `leftovers` finds those that nothing has read.
    fn table(&mut self, name: &str) -> Option<(ConfigPlace, ConfigTable)> {
        let found = self.root.iter().position(|(section, ..)| section == name);
        match found.map(|index| self.root.swap_remove(index))? {
            (_, place, ConfigNode { value: ConfigValue::Table(table), .. }) => Some((place, table)),
            (_, place, node) => {
                let what = wants(&format!("a section, written as [{name}]"), &node);
                self.problems.push(format!("{place}: `{name}` {what}"));
                None
            }
        }
    }

    /// Reports every section that was not read.
    fn leftovers(&mut self) {
        for (name, place, node) in &self.root {
            let what = match node.value() {
                ConfigValue::Table(_) => format!("section [{name}]"),
                _ => format!("key `{name}` outside a section"),
            };
            let chats = self.platforms.iter().map(|platform| platform.name);
            let known: Vec<&str> = SECTIONS.into_iter().chain(chats).chain(LAST_SECTIONS).collect();
            let hint = match nearest(name, &known) {
                Some(near) => format!("did you mean [{near}]?"),
                None => format!("the sections are {}", known.join(", ")),
            };
            self.problems.push(format!("{place}: unknown {what}; {hint}"));
        }
    }

    fn has(&self, section: &str) -> bool {
        self.root.iter().any(|(name, ..)| name == section)
    }

    /// The platforms with a section here that this program was built without.
    fn left_out(&mut self) -> Vec<&'static str> {
        let missing = self.platforms.iter().filter(|it| it.platform.is_none());
        let names: Vec<_> = missing.map(|it| it.name).filter(|name| self.has(name)).collect();
        // Their keys are not known here, so they cannot be checked.
        self.root.retain(|(section, ..)| !names.contains(&section.as_str()));
        names
    }

    fn approvers(&mut self, oidc: Option<&OidcSettings>) -> ApproverSettings {
        let platforms = self.platforms;
        let [people, groups, rules] =
            ["people", "groups", "answer_rules"].map(|name| self.entries(name));
        let people = people::read(people, groups, (platforms, oidc), &mut self.problems);
        let rules = answer_rules::read(rules, &people, &mut self.problems);
        let settings = people::read_approvers(self.section("approvers"), platforms, people);
        ApproverSettings { rules, ..settings }
    }

    fn routes(&mut self, approvers: &ApproverSettings, chats: &mut [ChatAccount]) -> Routes {
        let [entries, rotas] = ["routes", "rotas"].map(|name| self.entries(name));
        let entries = RouteEntries { routes: entries, rotas, digest: self.table("digest") };
        routes::read(entries, approvers, chats, &mut self.problems)
    }

    /// Removes a list of tables, each written as [[name]], from the tree.
    fn entries(&mut self, name: &'static str) -> ConfigEntries {
        ConfigEntries::of(&mut self.root, name, &mut self.problems)
    }

    fn chats(&mut self) -> Vec<ChatAccount> {
        let platforms = self.platforms.iter().filter_map(|it| it.platform);
        let mut accounts = Vec::new();
        for platform in platforms {
            let name = platform.description().name;
            if self.has(name) {
                accounts.extend(chats::account(platform, self.section(name)));
            }
        }
        accounts
    }
}

impl ConfigReader<'_> {
    /// Applies one environment variable over the file.
    pub(super) fn overlay(&mut self, name: &str, value: &str) {
        // Variables are in upper case by convention, keys in lower case.
        let lower = name.trim_start_matches(PREFIX).to_ascii_lowercase();
        let Some((section, key)) = lower.split_once("__") else {
            self.problems.push(format!("{name}: names no key; it must be {PREFIX}SECTION__KEY"));
            return;
        };
        // Only secrets have a `_FILE` form: other keys may end in `_file` themselves, such as
        // `ca_file`.
        let from_file = key
            .strip_suffix("_file")
            .filter(|key| secrets::keys(self.platforms).contains(&(section, *key)));
        let (key, node) = match from_file {
            None => (key, section::read_env(name, value)),
            Some(key) => match std::fs::read_to_string(self.places.resolve(&self.base, value)) {
                Ok(secret) => {
                    let secret = ConfigValue::Text(secret.trim_end().to_owned());
                    (key, ConfigNode { place: ConfigPlace::Env(name.into()), value: secret })
                }
                Err(error) => {
                    self.problems.push(format!("{name}: {value} cannot be read: {error}"));
                    return;
                }
            },
        };
        let place = node.place.clone();
        if !self.root.iter().any(|(name, ..)| name == section) {
            let table =
                ConfigNode { place: place.clone(), value: ConfigValue::Table(ConfigTable::new()) };
            self.root.push((section.to_owned(), place.clone(), table));
        }
        for (_, _, node_of_section) in self.root.iter_mut().filter(|(name, ..)| name == section) {
            if let ConfigValue::List(_) = node_of_section.value {
                let why = format!("{name}: [[{section}]] is a list, which no variable overrides");
                self.problems.push(why);
            }
            if let ConfigValue::Table(table) = &mut node_of_section.value {
                // The environment wins; the key of the file is removed so that it is not read
                // twice.
                table.retain(|(name, ..)| name != key);
                table.push((key.to_owned(), place.clone(), node.clone()));
            }
        }
    }
}

// Each of these reads a section; `resolve` makes a path absolute.

fn read_daemon(
    mut section: Section<'_>,
    places: &Places,
    resolve: impl Fn(&str) -> PathBuf,
) -> DaemonSettings {
    let path = |node: &ConfigNode| path(node, &resolve);
    let state_dir = section.get("state_dir", path).unwrap_or_else(|| places.state.clone());
    let public_url = section.get("public_url", public_url);
    let passkeys = section.get("passkeys", flag);
    if passkeys == Some(true) && !public_url.as_ref().is_some_and(PublicUrl::has_passkeys) {
        section.problem(
            "needs a `public_url` with https and a host name for `passkeys`: browsers make \
             none for an IP address, plain http or localhost",
        );
    }
    let daemon = DaemonSettings {
        socket: section
            .get("socket", path)
            .unwrap_or_else(|| places.runtime.as_ref().unwrap_or(&state_dir).join(SOCKET)),
        listen: section.get("listen", address).unwrap_or_else(default_address),
        public_url,
        passkeys,
        allowed_hosts: section.get("allowed_hosts", hosts).unwrap_or_default(),
        push: section.get("push", push).unwrap_or(Some(PushShows::default())),
        agent_token: section.get("agent_token", token),
        approver_token: section.get("approver_token", token),
        state_dir,
    };
    section.finish();
    daemon
}

fn read_client(
    mut section: Section<'_>,
    socket: &Path,
    resolve: impl Fn(&str) -> PathBuf,
) -> ClientSettings {
    let insecure_http = section.get("insecure_http", flag).unwrap_or(false);
    let client = ClientSettings {
        url: section
            .get("url", |node| servers(node, insecure_http, &resolve))
            // On the daemon's machine; its socket needs no token.
            .unwrap_or_else(|| vec![Server::Unix(socket.into())]),
        token: section.get("token", secret),
        insecure_http,
        ca_file: section.get("ca_file", |node| path(node, &resolve)),
    };
    section.finish();
    client
}

fn read_store(
    mut section: Section<'_>,
    state_dir: &Path,
    resolve: impl Fn(&str) -> PathBuf,
) -> StoreSettings {
    let database = section.get("url", |node| Database::read(&text(node)?, &resolve));
    let keep = section.get("keep", length).unwrap_or(Duration::from_secs(30 * 86_400));
    section.finish();
    let beside = || Database::Sqlite(state_dir.join("countersign.db"));
    StoreSettings { database: database.unwrap_or_else(beside), keep }
}

fn read_policy(mut section: Section<'_>, resolve: impl Fn(&str) -> PathBuf) -> PolicySettings {
    // Read first: `on_timeout` needs the tools.
    let approved = section.get("approve_on_timeout", tools).unwrap_or_default();
    let policy = PolicySettings {
        profile: section.get("profile", profile).unwrap_or(Profile::Standard),
        mode: section.get("mode", text),
        rules: section.get("rules", |node| path(node, &resolve)),
        compat: section.get("compat", flag).unwrap_or(false),
        timeout: section.get("timeout", length),
        late_yes: section.get("late_yes", length),
        on_timeout: section.get("on_timeout", |node| on_timeout(node, approved)),
    };
    section.finish();
    policy
}

fn read_agents(mut section: Section<'_>, resolve: impl Fn(&str) -> PathBuf) -> AgentSettings {
    let codex = section.get("codex", optional).flatten();
    let person_said = section.get("person_said", flag).unwrap_or_default();
    section.finish();
    AgentSettings { codex: codex.map(|folder| resolve(&folder)), person_said }
}
