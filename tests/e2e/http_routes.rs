//! Every route of the daemon, called by every kind of caller: `tests/golden/routes.txt` says how
//! each is answered. `UPDATE_ROUTES=1` writes it anew.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    inbox_visitor::Visitor,
    oidc::{Browser, daemon_with},
    oidc_provider::{FakeProvider, PUBLIC},
};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const GOLDEN: &str = "tests/golden/routes.txt";
/// The rooms with routes.
const ROOMS: [&str; 2] = ["src", "adapters"];
const PERSON: &str = "bens-own-token";
const TEAM: &str = "[[people]]\nname = \"Ana\"\noidc = \"ana-7\"\n\
                    [[people]]\nname = \"Ben\"\noidc = \"ben-8\"\ntoken = \"bens-own-token\"\n";

/// A kind of caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Somebody at the port without a token.
    Nobody,
    /// A token that is not known.
    Wrong,
    /// The agents' shared token, as hooks have it.
    Agent,
    /// An agent's own token.
    Named,
    /// The approver's token.
    Approver,
    /// A person's own token.
    Person,
    /// A process at the socket without a token.
    Socket,
    /// The approver's token at the socket.
    SocketApprover,
    /// The inbox's page, opened by its link.
    Inbox,
    /// A browser with that page's cookie and without its key.
    Cookie,
    /// A browser with the key and without the cookie.
    Key,
    /// Another site in that browser, with everything the page has.
    Foreign,
    /// A page under a name that is not the inbox's.
    OtherHost,
    /// Somebody who has signed in to the inbox.
    SignedIn,
}

const CALLERS: [(&str, Caller); 14] = [
    ("nobody", Caller::Nobody),
    ("wrong", Caller::Wrong),
    ("agent", Caller::Agent),
    ("named", Caller::Named),
    ("approver", Caller::Approver),
    ("person", Caller::Person),
    ("socket", Caller::Socket),
    ("sock-app", Caller::SocketApprover),
    ("inbox", Caller::Inbox),
    ("cookie", Caller::Cookie),
    ("key", Caller::Key),
    ("foreign", Caller::Foreign),
    ("host", Caller::OtherHost),
    ("signed-in", Caller::SignedIn),
];

/// Everybody who calls.
struct Callers {
    daemon: Daemon,
    idp: FakeProvider,
    socket: Client,
    http: Client,
    inbox: Visitor,
    signed_in: Visitor,
    named: String,
    /// How many calls were asked; each is another, because a denial holds for a moment.
    asked: usize,
}

impl Callers {
    async fn new() -> Self {
        let idp = FakeProvider::start().await;
        let config = format!("{}{TEAM}", idp.settings());
        let daemon = daemon_with("passkeys = true\n", &config).await;
        let client = || Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let socket = client().unix_socket(daemon.dir.path().join("countersign.sock"));
        let (socket, http) = (socket.build().unwrap(), client().build().unwrap());
        let link = daemon.inbox.replace(PUBLIC, &daemon.url);
        let inbox = Visitor::enter(&link).await;
        let signed_in = signed_in(&daemon, &idp).await;
        let (status, added) = daemon.post("/v1/tokens", PERSON, &json!({ "name": "named" })).await;
        assert_eq!(status, 200, "{added}");
        let named = added["token"].as_str().unwrap().to_owned();
        Self { daemon, idp, socket, http, inbox, signed_in, named, asked: 0 }
    }

    /// How a caller is answered.
    async fn answer(&mut self, caller: Caller, method: &Method, route: &str) -> StatusCode {
        let path = self.path(method, route).await;
        let body =
            if *method == Method::POST { body_for(route).to_string() } else { String::new() };
        let request = match caller {
            Caller::Socket | Caller::SocketApprover => {
                self.socket.request(method.clone(), format!("http://localhost{path}"))
            }
            _ => self.http.request(method.clone(), format!("{}{path}", self.daemon.url)),
        };
        let request = self.dressed(request, caller, (method, &path, &body)).await;
        let request = request.header("content-type", "application/json").body(body);
        let status = request.send().await.unwrap().status();
        self.mend(caller, route, status).await;
        status
    }

    async fn dressed(
        &self,
        request: RequestBuilder,
        caller: Caller,
        asked: (&Method, &str, &str),
    ) -> RequestBuilder {
        let own = self.daemon.url.as_str();
        match caller {
            Caller::Nobody | Caller::Socket => request,
            Caller::Wrong => request.bearer_auth("not-a-token-of-the-tests"),
            Caller::Agent => request.bearer_auth(AGENT),
            Caller::Named => request.bearer_auth(&self.named),
            Caller::Approver | Caller::SocketApprover => request.bearer_auth(APPROVER),
            Caller::Person => request.bearer_auth(PERSON),
            Caller::Inbox => page(request, &self.inbox, asked).await.header("origin", own),
            Caller::Cookie => request.header("cookie", &self.inbox.cookie).header("origin", own),
            Caller::Key => {
                let proof = proof(&self.inbox, asked).await;
                request.header("x-countersign-inbox", proof).header("origin", own)
            }
            Caller::Foreign => {
                let request = page(request, &self.inbox, asked).await;
                request.header("origin", "https://evil.example")
            }
            Caller::OtherHost => {
                let request = page(request, &self.inbox, asked).await;
                request.header("host", "evil.example").header("origin", "http://evil.example")
            }
            // At the public address, where passkeys work.
            Caller::SignedIn => {
                let request = page(request, &self.signed_in, asked).await;
                request.header("host", "approve.example").header("origin", PUBLIC)
            }
        }
    }

    /// The path with its parameters; what answers an ask gets one of its own.
    async fn path(&mut self, method: &Method, route: &str) -> String {
        let ask = if route.contains("/asks/{id}") && *method == Method::POST {
            self.asked += 1;
            self.daemon.ask(&shell(&format!("git push origin b{}", self.asked))).await
        } else {
            "no-such-ask".to_owned()
        };
        let id = if route.contains("/asks/") { &ask } else { "none" };
        let path = route.replace("{id}", id).replace("{name}", "none").replace("{act}", "abort");
        path.replace("{*rest}", "none").replace("{start}", "start").replace("{file}", "base.css")
    }

    /// Undoes what a request did to those that follow.
    async fn mend(&mut self, caller: Caller, route: &str, status: StatusCode) {
        if !status.is_success() {
            return;
        }
        if route == "/v1/pause" {
            assert_eq!(self.daemon.post("/v1/resume", PERSON, &json!({})).await.0, 200);
        }
        if route == "/inbox/sign-out" && caller == Caller::SignedIn {
            self.signed_in = signed_in(&self.daemon, &self.idp).await;
        }
    }
}

async fn signed_in(daemon: &Daemon, idp: &FakeProvider) -> Visitor {
    idp.sign_in(json!({ "sub": "ana-7" }));
    Browser::default().sign_in(daemon, idp).await.unwrap().at(PUBLIC)
}

async fn proof(visitor: &Visitor, (method, path, body): (&Method, &str, &str)) -> String {
    visitor.proof(method.as_str(), path, body).await.unwrap().header
}

async fn page(
    request: RequestBuilder,
    visitor: &Visitor,
    asked: (&Method, &str, &str),
) -> RequestBuilder {
    let proof = proof(visitor, asked).await;
    request.header("cookie", &visitor.cookie).header("x-countersign-inbox", proof)
}

fn body_for(route: &str) -> Value {
    match route {
        "/v1/calls" => shell("git push origin main"),
        "/v1/asks/{id}/answer" => json!({ "decision": "deny" }),
        "/v1/asks/{id}/cancel" => json!({ "reason": "aborted" }),
        "/v1/tokens" => json!({ "name": "another" }),
        "/v1/sessions/{id}/{act}" => json!({ "agent": "tester" }),
        "/v1/rules/explain"
        | "/v1/approvers/explain"
        | "/inbox/api/rules/explain"
        | "/inbox/api/approvers/explain" => shell("ls"),
        "/v1/rules/try" | "/inbox/api/rules/try" | "/inbox/api/rules/save" => {
            json!({ "tool": "shell_exec", "pattern": "cargo build *" })
        }
        "/inbox/press" => json!({ "card": "none", "token": "none" }),
        "/inbox/command" => json!({ "name": "pending" }),
        _ => json!({}),
    }
}

/// Every path that a router of the daemon has, read from the sources.
fn routes() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = fs::read_to_string(root.join("src/domain/wire/routes.rs")).unwrap();
    let named: BTreeMap<&str, &str> = names
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(": &str = \""))
        .map(|(name, path)| (name, path.trim_end_matches("\";")))
        .collect();
    let mut found = BTreeSet::new();
    for file in ROOMS.iter().flat_map(|room| sources(&root.join(room))) {
        let text = fs::read_to_string(&file).unwrap();
        let (text, _) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((&text, ""));
        for call in text.split(".route(").skip(1) {
            let argument = call.trim_start();
            let path = match argument.strip_prefix("routes::") {
                Some(name) => named[name.split(',').next().unwrap()],
                None => {
                    argument.strip_prefix('"').and_then(|it| it.split('"').next()).unwrap_or("")
                }
            };
            found.extend(path.starts_with('/').then(|| path.to_owned()));
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        if entry.is_dir() && !matches!(name, "tests" | "testkit" | "target" | "agents" | "embed") {
            found.extend(sources(&entry));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(entry);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_every_caller_as_the_table_says() {
    let mut callers = Callers::new().await;
    let width = 40;
    let mut table = format!("{:<width$}", "");
    table.extend(CALLERS.iter().map(|(name, _)| format!(" {name:>9}")));
    table.push('\n');
    for route in routes() {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let mut answers = Vec::new();
            for (_, caller) in CALLERS {
                answers.push(callers.answer(caller, &method, &route).await);
            }
            // The route does not have this method.
            if answers.contains(&StatusCode::METHOD_NOT_ALLOWED) {
                continue;
            }
            table.push_str(&format!("{:<width$}", format!("{method:<6} {route}")));
            table.extend(answers.iter().map(|status| format!(" {:>9}", status.as_u16())));
            table.push('\n');
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("UPDATE_ROUTES").is_some() {
        fs::write(&golden, &table).unwrap();
    }
    assert_eq!(table, fs::read_to_string(&golden).unwrap(), "UPDATE_ROUTES=1 writes {GOLDEN}");
}
