//! People sign in to the inbox with a passkey that they added before, and nobody else does.

use crate::{
    authenticator::{Authenticator, KeyKind, VERIFIED, encoded},
    browser,
    daemon::{Daemon, shell},
    inbox_visitor::Visitor,
    oidc::{Browser, daemon_with},
    oidc_provider::{FakeProvider, PUBLIC},
    postgres::Postgres,
    tls,
};
use reqwest::Method;
use serde_json::{Value, json};

const TEAM: &str = "[[people]]\nname = \"Ana\"\noidc = [\"ana-7\", \"ana-8\"]\n\
                    token = \"anas-own-token\"\n\
                    [[people]]\nname = \"Ben\"\noidc = \"ben-8\"\n";
const REFUSED: &str = "This passkey is not valid here (any more). Send /login to the bot for a \
                       link instead.";
const NO_PASSKEY: &str = "The browser's passkey is not valid for this inbox. Try again.";

/// With an identity provider passkeys have to be meant.
const MEANT: &str = "passkeys = true\n";
const AXE: &str = include_str!("../support/assets/axe.min.js");
const AXE_RUN: &str = "axe.run(document.querySelector('#person')).then(({ violations }) => \
                       violations.map(({ id, nodes }) => `${id} ${nodes[0].failureSummary}`))";

/// A daemon with people, and the provider through which they sign in at first.
async fn team() -> (FakeProvider, Daemon) {
    let idp = FakeProvider::start().await;
    let daemon = daemon_with(MEANT, &format!("{}{TEAM}", idp.settings())).await;
    (idp, daemon)
}

/// Somebody who has just signed in, at the page's public address.
async fn signed_in(daemon: &Daemon, idp: &FakeProvider, sub: &str) -> Visitor {
    idp.sign_in(json!({ "sub": sub }));
    Browser::default().sign_in(daemon, idp).await.unwrap().at(PUBLIC)
}

async fn begun(visitor: &Visitor) -> Value {
    let (status, begun) = visitor.send("/inbox/passkeys/begin", "{}").await;
    assert_eq!(status, 200, "{begun}");
    begun
}

/// Adds what an authenticator makes: status and reply.
async fn add(visitor: &Visitor, phone: &mut Authenticator, name: &str) -> (u16, Value) {
    let begun = begun(visitor).await;
    let passkey = phone.create(&begun["publicKey"]);
    let new = json!({ "browser": begun["browser"], "name": name, "passkey": passkey });
    visitor.send("/inbox/passkeys", &new.to_string()).await
}

/// A person's phone whose passkey was added.
async fn phone(visitor: &Visitor) -> Authenticator {
    let mut phone = Authenticator::new(KeyKind::Es256, PUBLIC);
    let (status, added) = add(visitor, &mut phone, "a phone").await;
    assert_eq!(status, 200, "{added}");
    phone
}

async fn begin(browser: &mut Browser, daemon: &Daemon) -> Value {
    browser.post(daemon, "/inbox/passkey/begin", &json!({})).await.unwrap()
}

async fn finish(
    browser: &mut Browser,
    daemon: &Daemon,
    begun: &Value,
    passkey: &Value,
) -> Result<Visitor, String> {
    let brought = json!({ "browser": begun["browser"], "passkey": passkey });
    let told = browser.post(daemon, "/inbox/passkey/finish", &brought).await?;
    Ok(browser.entered(daemon, &told).at(PUBLIC))
}

/// Signs in with a passkey in a new browser.
async fn enter(daemon: &Daemon, phone: &mut Authenticator) -> Result<Visitor, String> {
    let mut browser = Browser::default();
    let begun = begin(&mut browser, daemon).await;
    let passkey = phone.get(&begun["publicKey"]);
    finish(&mut browser, daemon, &begun, &passkey).await
}

async fn events(daemon: &Daemon, kind: &str) -> Vec<Value> {
    let output = daemon.command(&["log", "--kind", kind, "--format", "jsonl"]).output();
    let log = String::from_utf8(output.await.unwrap().stdout).unwrap();
    log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["data"].clone()).collect()
}

/// Runs a command with Ana's own token: whether it was done, and what it said.
async fn command(daemon: &Daemon, args: &[&str]) -> (bool, String) {
    let mut command = daemon.command(args);
    command.env("COUNTERSIGN_APPROVER_TOKEN", "anas-own-token");
    let output = command.output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Replaces a part of the config, and puts it in force.
async fn reload(daemon: &Daemon, from: &str, to: &str) {
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    assert!(config.contains(from), "{config}");
    std::fs::write(daemon.config(), config.replace(from, to)).unwrap();
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
}

fn open(card: &Value) -> bool {
    card["card"]["tone"] == "open"
}

#[tokio::test]
async fn a_person_adds_a_passkey_signs_in_with_it_alone_and_answers_under_their_name() {
    let (idp, mut daemon) = team().await;
    let ana = signed_in(&daemon, &idp, "ana-7").await;
    let mut phone = Authenticator::new(KeyKind::Es256, PUBLIC);
    let begun = begun(&ana).await;
    let asked = &begun["publicKey"];
    assert_eq!(asked["rp"]["id"], "approve.example");
    let wanted = json!({"residentKey": "required", "requireResidentKey": true,
        "userVerification": "required"});
    assert_eq!(
        (&asked["authenticatorSelection"], &asked["attestation"]),
        (&wanted, &json!("none"))
    );
    let handle = asked["user"]["id"].as_str().unwrap().to_owned();
    assert!(handle.len() == 43 && !handle.contains("ana"), "it reveals nothing: {handle}");
    let new = json!({"browser": begun["browser"], "name": "Ana's phone",
        "passkey": phone.create(asked)});
    let (status, added) = ana.send("/inbox/passkeys", &new.to_string()).await;
    assert_eq!((status, &added["added"]["name"]), (200, &json!("Ana's phone")), "{added}");
    let id = added["added"]["id"].as_str().unwrap().to_owned();
    // By whatever identity she comes, she is the same person to an authenticator.
    let again = signed_in(&daemon, &idp, "ana-8").await;
    let asked = begun_of(&again).await;
    assert_eq!(
        (&asked["user"]["id"], &asked["excludeCredentials"][0]["id"]),
        (&json!(handle), &json!(encoded(&phone.id)))
    );
    let bens = begun_of(&signed_in(&daemon, &idp, "ben-8").await).await;
    assert!(bens["user"]["id"] != json!(handle) && bens["excludeCredentials"] == json!([]));
    // Another start of the daemon knows it still, and no session of before.
    daemon.kill().await;
    daemon.run().await;
    daemon.url = daemon.inbox_here().await;
    let ana = enter(&daemon, &mut phone).await.unwrap();
    let waiting = daemon.waiting(shell("git push origin main"));
    let mut board = ana.follow().await;
    let card = board.card(open).await;
    assert_eq!(ana.press_label(&card, "Approve", None).await, "Approved once.");
    assert_eq!(waiting.await.unwrap()["reason"], "approved by Ana");
    let by = json!({"kind": "person", "platform": "inbox", "id": "oidc:ana-7", "name": "Ana"});
    let passkey = json!({"id": id, "name": "Ana's phone", "owner": "Ana"});
    assert_eq!(events(&daemon, "passkey_added").await, [json!({"by": by, "passkey": passkey})]);
    let came = events(&daemon, "signed_in").await;
    assert_eq!(came.last(), Some(&json!({"by": by, "passkey": passkey})));
    // The page lists her own, and the command everybody's.
    let own = ana.api(Method::GET, "/inbox/passkeys").await.1;
    assert_eq!((&own["origin"], &own["passkeys"][0]["id"]), (&json!(PUBLIC), &json!(id)));
    assert!(
        own["passkeys"][0]["used_at"].is_i64() && own["passkeys"].as_array().unwrap().len() == 1
    );
    let ben = signed_in(&daemon, &idp, "ben-8").await;
    assert_eq!(ben.api(Method::GET, "/inbox/passkeys").await.1["passkeys"], json!([]));
    let (done, said) = command(&daemon, &["passkeys"]).await;
    assert!(done && said.contains("Ana's phone") && said.contains("accepted"), "{said}");
    assert!(!daemon.said().contains(&handle), "{}", daemon.said());
    assert_eq!(completed(&daemon, &id).await, id);
    // What the log says of it holds.
    let verified = daemon.command(&["log", "verify"]).output().await.unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

/// What a shell offers behind `countersign passkeys remove`.
async fn completed(daemon: &Daemon, id: &str) -> String {
    let mut command = daemon.command(&["--", "countersign", "passkeys", "remove", &id[..2]]);
    command.env("COUNTERSIGN_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3");
    command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_SPACE", "true");
    command.env("COUNTERSIGN_CONFIG", daemon.config());
    command.env("COUNTERSIGN_APPROVER_TOKEN", "anas-own-token");
    String::from_utf8(command.output().await.unwrap().stdout).unwrap().trim().to_owned()
}

async fn begun_of(visitor: &Visitor) -> Value {
    begun(visitor).await["publicKey"].clone()
}

#[tokio::test]
async fn a_passkey_that_is_removed_lets_nobody_in_and_ends_who_came_by_it() {
    let (idp, daemon) = team().await;
    let ana = signed_in(&daemon, &idp, "ana-7").await;
    let (mut phone, mut laptop) = (phone(&ana).await, phone(&ana).await);
    let all = ana.api(Method::GET, "/inbox/passkeys").await.1;
    let id = |at: usize| all["passkeys"][at]["id"].as_str().unwrap().to_owned();
    let (by_phone, by_laptop) =
        (enter(&daemon, &mut phone).await.unwrap(), enter(&daemon, &mut laptop).await.unwrap());
    let (mut phones, mut laptops) = (by_phone.follow().await, by_laptop.follow().await);
    assert!(phones.next().await.is_some() && laptops.next().await.is_some());
    // Nobody removes another's on the page.
    let ben = signed_in(&daemon, &idp, "ben-8").await;
    let path = format!("/inbox/passkeys/{}", id(0));
    assert_eq!(ben.api(Method::DELETE, &path).await.0, 404);
    // The agents' token does not even see them.
    let (done, said) = command_without_token(&daemon, &["passkeys"]).await;
    assert!(!done, "{said}");
    let (done, said) = command(&daemon, &["passkeys", "remove", &id(0)]).await;
    assert!(done && said.starts_with("Removed: a phone of Ana."), "{said}");
    let (done, said) = command(&daemon, &["passkeys", "remove", &id(0)]).await;
    assert!(!done && said.contains("there is no passkey"), "{said}");
    while phones.next().await.is_some() {}
    assert!(by_phone.try_follow().await.is_err());
    assert_eq!(enter(&daemon, &mut phone).await.err().as_deref(), Some(REFUSED));
    assert_eq!(by_laptop.api(Method::GET, "/inbox/me").await.1, json!({"name": "Ana"}));
    // Her own page removes the other one.
    let path = format!("/inbox/passkeys/{}", id(1));
    assert_eq!(ana.api(Method::DELETE, &path).await.0, 200);
    while laptops.next().await.is_some() {}
    assert_eq!(enter(&daemon, &mut laptop).await.err().as_deref(), Some(REFUSED));
    assert_eq!(ana.api(Method::GET, "/inbox/me").await.1, json!({"name": "Ana"}));
    let removed = events(&daemon, "passkey_removed").await;
    let by = |at: usize| (removed[at]["by"]["platform"].clone(), removed[at]["by"]["name"].clone());
    assert_eq!([by(0), by(1)], [(json!("api"), json!("Ana")), (json!("inbox"), json!("Ana"))]);
}

async fn command_without_token(daemon: &Daemon, args: &[&str]) -> (bool, String) {
    let mut command = daemon.command(args);
    command.env("COUNTERSIGN_APPROVER_TOKEN", "of-nobody");
    let output = command.output().await.unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[tokio::test]
async fn a_backup_brings_no_removed_passkey_back_and_no_counter_of_before() {
    let (idp, mut daemon) = team().await;
    let ana = signed_in(&daemon, &idp, "ana-7").await;
    let (mut stays, mut goes) = (phone(&ana).await, phone(&ana).await);
    let all = ana.api(Method::GET, "/inbox/passkeys").await.1;
    let id = all["passkeys"][1]["id"].as_str().unwrap().to_owned();
    let backup = daemon.dir.path().join("backup.db").display().to_string();
    assert!(command(&daemon, &["backup", &backup]).await.0);
    stays.counter = 7;
    assert!(enter(&daemon, &mut stays).await.is_ok());
    assert!(command(&daemon, &["passkeys", "remove", &id]).await.0);
    assert!(daemon.stop().await);
    let (done, said) = command(&daemon, &["restore", &backup]).await;
    assert!(done && said.contains("Taken over from it: 1 removed passkey."), "{said}");
    daemon.run().await;
    daemon.url = daemon.inbox_here().await;
    assert_eq!(enter(&daemon, &mut goes).await.err().as_deref(), Some(REFUSED));
    stays.counter = 7;
    assert!(enter(&daemon, &mut stays).await.is_err(), "it was used before the restore");
    assert!(enter(&daemon, &mut stays).await.is_ok());
}

#[tokio::test]
async fn where_daemons_share_a_store_a_passkey_is_one_at_all_and_removed_at_one_gone_at_all() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let idp = FakeProvider::start().await;
    let config = format!("{}{}{TEAM}", idp.settings(), postgres.config());
    let (first, second) = (daemon_with(MEANT, &config).await, daemon_with(MEANT, &config).await);
    let ana = signed_in(&first, &idp, "ana-7").await;
    let mut phone = phone(&ana).await;
    phone.counter = 5;
    let by_phone = enter(&second, &mut phone).await.unwrap();
    phone.counter = 5;
    assert!(enter(&first, &mut phone).await.is_err(), "the counter of the other one holds");
    let mut board = by_phone.follow().await;
    assert!(board.next().await.is_some());
    let all = ana.api(Method::GET, "/inbox/passkeys").await.1;
    let path = format!("/inbox/passkeys/{}", all["passkeys"][0]["id"].as_str().unwrap());
    assert_eq!(ana.api(Method::DELETE, &path).await.0, 200);
    assert_eq!(enter(&second, &mut phone).await.err().as_deref(), Some(REFUSED));
    while board.next().await.is_some() {}
    assert!(by_phone.try_follow().await.is_err());
    drop((first, second));
    postgres.drop().await;
}

#[tokio::test]
async fn who_leaves_the_config_is_cut_off_with_their_passkey() {
    let (idp, daemon) = team().await;
    let ana = signed_in(&daemon, &idp, "ana-7").await;
    let mut phone = phone(&ana).await;
    let by_phone = enter(&daemon, &mut phone).await.unwrap();
    let mut board = by_phone.follow().await;
    assert!(board.next().await.is_some());
    let mut browser = Browser::default();
    let began = begin(&mut browser, &daemon).await;
    reload(&daemon, "\"ana-7\", ", "").await;
    while board.next().await.is_some() {}
    assert!(by_phone.proof("GET", "/inbox/me", "").await.is_err(), "there is no such sign-in");
    let passkey = phone.get(&began["publicKey"]);
    let refused = finish(&mut browser, &daemon, &began, &passkey).await;
    assert_eq!(refused.err().as_deref(), Some(REFUSED), "though it began before");
    let (_, said) = command(&daemon, &["passkeys"]).await;
    assert!(said.contains("its person left"), "{said}");
    // Her account there is somebody else's now: her passkey is not.
    reload(&daemon, "oidc = \"ben-8\"", "oidc = [\"ben-8\", \"ana-7\"]").await;
    assert_eq!(enter(&daemon, &mut phone).await.err().as_deref(), Some(REFUSED));
    reload(&daemon, "oidc = [\"ben-8\", \"ana-7\"]", "oidc = \"ben-8\"").await;
    reload(&daemon, "[\"ana-8\"]", "[\"ana-7\", \"ana-8\"]").await;
    let back = enter(&daemon, &mut phone).await.unwrap();
    assert_eq!(back.api(Method::GET, "/inbox/me").await.1, json!({"name": "Ana"}));
}

#[tokio::test]
async fn a_sign_in_counts_once_in_the_browser_that_began_it_and_with_its_own_persons_handle() {
    let (idp, daemon) = team().await;
    let mut anas = phone(&signed_in(&daemon, &idp, "ana-7").await).await;
    let mut bens = phone(&signed_in(&daemon, &idp, "ben-8").await).await;
    let (mut browser, mut other) = (Browser::default(), Browser::default());
    let (began, others) = (begin(&mut browser, &daemon).await, begin(&mut other, &daemon).await);
    let passkey = anas.get(&began["publicKey"]);
    assert!(finish(&mut browser, &daemon, &began, &passkey).await.is_ok());
    let again = finish(&mut browser, &daemon, &began, &passkey).await;
    assert_eq!(again.err().as_deref(), Some(REFUSED), "a replay");
    let elsewhere = finish(&mut other, &daemon, &others, &passkey).await;
    assert_eq!(elsewhere.err().as_deref(), Some(REFUSED), "another challenge");
    let used = finish(&mut other, &daemon, &others, &anas.get(&others["publicKey"])).await;
    assert_eq!(used.err().as_deref(), Some(REFUSED), "its challenge is used up");
    // Under Ben's handle, and Ben's credential under hers.
    let hers = anas.handle.clone();
    anas.handle.clone_from(&bens.handle);
    assert_eq!(enter(&daemon, &mut anas).await.err().as_deref(), Some(REFUSED));
    anas.handle = hers;
    let own = std::mem::replace(&mut anas.id, bens.id.clone());
    assert_eq!(enter(&daemon, &mut anas).await.err().as_deref(), Some(REFUSED));
    anas.id = own;
    anas.flags &= !VERIFIED;
    assert_eq!(enter(&daemon, &mut anas).await.err().as_deref(), Some(REFUSED));
    anas.flags |= VERIFIED;
    anas.spoils = true;
    assert_eq!(enter(&daemon, &mut anas).await.err().as_deref(), Some(REFUSED));
    anas.spoils = false;
    assert!(enter(&daemon, &mut anas).await.is_ok());
    let ben = enter(&daemon, &mut bens).await.unwrap();
    assert_eq!(ben.api(Method::GET, "/inbox/me").await.1, json!({"name": "Ben"}));
    // What begins at a passkey's adding ends no sign-in, and the other way round.
    let asked = begun(&ben).await;
    let passkey = bens.get(&asked["publicKey"]);
    let refused = finish(&mut Browser::default(), &daemon, &asked, &passkey).await;
    assert_eq!(refused.err().as_deref(), Some(REFUSED));
    // Not what the page sends.
    for body in [json!({}), json!({"browser": 1}), json!({"browser": "", "passkey": {}})] {
        let told = Browser::default().post(&daemon, "/inbox/passkey/finish", &body).await;
        assert_eq!(
            told.err().as_deref(),
            Some("This is not a valid reply of a passkey."),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_counter_that_does_not_rise_is_refused_and_logged() {
    let (idp, mut daemon) = team().await;
    let mut phone = phone(&signed_in(&daemon, &idp, "ana-7").await).await;
    phone.counter = 9;
    assert!(enter(&daemon, &mut phone).await.is_ok());
    let copy = "This passkey seems to have been copied, so it is refused. Remove it, and add a \
                new one.";
    for counter in [9, 5, 0] {
        phone.counter = counter;
        assert_eq!(enter(&daemon, &mut phone).await.err().as_deref(), Some(copy), "{counter}");
    }
    let refused = events(&daemon, "passkey_refused").await;
    let shown: Vec<_> = refused.iter().map(|data| data["counter"].clone()).collect();
    assert_eq!(shown, [json!(9), json!(5), json!(0)]);
    assert_eq!(refused[0]["passkey"]["owner"], "Ana");
    phone.counter = 10;
    assert!(enter(&daemon, &mut phone).await.is_ok());
    daemon.says("a passkey's counter did not rise").await;
}

#[tokio::test]
async fn a_passkey_is_added_by_the_session_that_asked_for_it_and_belongs_to_one_person() {
    let (idp, daemon) = team().await;
    let ana = signed_in(&daemon, &idp, "ana-7").await;
    let ben = signed_in(&daemon, &idp, "ben-8").await;
    let mut key = Authenticator::new(KeyKind::EdDsa, PUBLIC);
    let asked = begun(&ana).await;
    let new = |passkey: Value, asked: &Value, name: &str| {
        json!({"browser": asked["browser"], "name": name, "passkey": passkey}).to_string()
    };
    // Ben's session brings what Ana's asked for.
    let made = key.create(&asked["publicKey"]);
    let refused = ben.send("/inbox/passkeys", &new(made.clone(), &asked, "x")).await;
    assert_eq!(refused, (403, json!({"error": NO_PASSKEY})));
    let refused = ana.send("/inbox/passkeys", &new(made, &asked, "x")).await;
    assert_eq!(refused.0, 403, "it was used up");
    // Names that a list cannot show.
    for name in ["", "   ", "a\nb", "a\u{202e}b", &"x".repeat(65)] {
        let (status, told) = add(&ana, &mut key, name).await;
        assert_eq!(
            (status, told["error"].as_str().unwrap().starts_with("A passkey needs")),
            (422, true),
            "{name:?}"
        );
    }
    assert_eq!(add(&ana, &mut key, " a key ").await.1["added"]["name"], "a key");
    let taken = json!({"error": "This passkey is registered here already."});
    assert_eq!(add(&ana, &mut key, "again").await, (409, taken.clone()));
    assert_eq!(add(&ben, &mut key, "Ben's now").await, (409, taken));
    for kind in [KeyKind::Rs256, KeyKind::Es256] {
        let mut other = Authenticator::new(kind, PUBLIC);
        assert_eq!(add(&ana, &mut other, "another").await.0, 200, "{kind:?}");
        assert!(enter(&daemon, &mut other).await.is_ok(), "{kind:?}");
    }
    let mut evil = Authenticator::new(KeyKind::Es256, "https://evil.example");
    assert_eq!(add(&ana, &mut evil, "evil").await, (403, json!({"error": NO_PASSKEY})));
    // Only the page at the public address, and only for people with names.
    let (_, told) = signed_in(&daemon, &idp, "ana-7")
        .await
        .at(&daemon.url)
        .send("/inbox/passkeys/begin", "{}")
        .await;
    let only = "Passkeys work at https://approve.example alone. Open the inbox there.";
    assert_eq!(told, json!({"error": only}));
    let nobody = Visitor::enter(&daemon.inbox.replace(PUBLIC, &daemon.url)).await.at(PUBLIC);
    let (status, told) = nobody.send("/inbox/passkeys/begin", "{}").await;
    assert_eq!(
        (status, told["error"].as_str().unwrap().starts_with("Passkeys belong")),
        (403, true)
    );
    assert_eq!(nobody.api(Method::GET, "/inbox/passkeys").await.0, 403);
    for path in ["/inbox/passkey/begin", "/inbox/passkey/finish"] {
        for origin in ["http://approve.example", "https://evil.example", "null"] {
            let request = daemon.http.post(format!("{}{path}", daemon.url)).json(&json!({}));
            let request = request.header("host", "approve.example").header("origin", origin);
            assert_eq!(request.send().await.unwrap().status(), 403, "{path} {origin}");
        }
    }
}

#[tokio::test]
async fn an_address_begins_so_many_sign_ins_a_minute_and_others_go_on() {
    let (idp, daemon) = team().await;
    let begin = async |path: &str, address: &str| {
        let request = daemon.http.post(format!("{}{path}", daemon.url));
        let request = request.header("host", "approve.example").header("origin", PUBLIC);
        let request = request.header("x-forwarded-for", format!("10.0.0.1, {address}"));
        request.send().await.unwrap().status().as_u16()
    };
    let ways = ["/inbox/passkey/begin", "/inbox/oidc/begin"];
    for at in 0..10 {
        assert_eq!(begin(ways[at % 2], "192.0.2.1").await, 200, "{at}");
    }
    for way in ways {
        assert_eq!(begin(way, "192.0.2.1").await, 429, "{way}");
        assert_eq!(begin(way, "192.0.2.2").await, 200, "{way}");
    }
    let mut begun = 12;
    while begin(ways[0], &format!("198.51.100.{begun}")).await == 200 {
        begun += 1;
    }
    assert_eq!(begun, 60, "in all");
    let told = Browser::default().post(&daemon, ways[1], &json!({})).await.err().unwrap();
    assert!(told.starts_with("Too many sign-ins have begun just now."), "{told}");
    assert_eq!(idp.refused(), [""; 0]);
}

#[tokio::test]
async fn without_an_https_name_there_are_no_passkeys() {
    let daemon = Daemon::start("").await;
    let ways: Value = daemon
        .http
        .get(format!("{}/inbox/sign-in/ways", daemon.url))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(ways, json!({"oidc": null, "passkey": null}));
    let request = daemon.http.post(format!("{}/inbox/passkey/begin", daemon.url));
    let reply = request.header("origin", &daemon.url).send().await.unwrap();
    assert_eq!(reply.status(), 404);
    let told: Value = reply.json().await.unwrap();
    assert!(told["error"].as_str().unwrap().contains("https address with a host name"), "{told}");
    // With an identity provider nobody gets around it unless that is meant.
    let idp = FakeProvider::start().await;
    for (keys, on) in [("", false), ("passkeys = false\n", false), (MEANT, true)] {
        let daemon = daemon_with(keys, &format!("{}{TEAM}", idp.settings())).await;
        let ways = daemon.http.get(format!("{}/inbox/sign-in/ways", daemon.url));
        let ways: Value = ways.send().await.unwrap().json().await.unwrap();
        assert_eq!(ways["passkey"], if on { json!(PUBLIC) } else { Value::Null }, "{keys}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_browser_a_person_adds_a_passkey_and_comes_back_with_it_alone() {
    // WebAuthn takes https and a name, so the browser speaks to a TLS proxy, as people do.
    let (idp, daemon) = team().await;
    let proxy = tls::in_front_of(daemon.url.trim_start_matches("http://").parse().unwrap()).await;
    let (rules, trusted) = (
        format!("--host-resolver-rules=MAP approve.example:443 {proxy}"),
        format!("--ignore-certificate-errors-spki-list={}", tls::KEY_HASH),
    );
    let Some(browser) = browser::Browser::start_with(&[&rules, &trusted]).await else { return };
    idp.sign_in(json!({"sub": "ana-7"}));
    let page = browser.open(&format!("{PUBLIC}/sign-in")).await;
    let authenticator = page.authenticator().await;
    // She has none yet: the browser says so, and she comes through the provider.
    page.until("!document.querySelector('#passkey').hidden").await;
    page.click("#passkey").await;
    page.until("document.querySelector('#said').innerText.startsWith('No passkey was used')").await;
    page.click("#go").await;
    page.until("document.querySelector('#line')?.dataset.state === 'live'").await;
    page.until("!document.querySelector('#me').hidden").await;
    page.click("#me").await;
    page.until("!document.querySelector('#passkey-form').hidden").await;
    page.click("#passkey-name").await;
    page.write("Ana's <b>phone</b>").await;
    page.click("#passkey-add").await;
    page.until("document.querySelector('#passkey-said').innerText.includes('can sign you in')")
        .await;
    let made = page.passkeys(&authenticator).await;
    assert_eq!((made.len(), &made[0]["rpId"]), (1, &json!("approve.example")));
    assert_eq!(made[0]["isResidentCredential"], true);
    let listed = page.eval("document.querySelector('#passkey-list bdi').innerText").await;
    assert_eq!(listed, "Ana's <b>phone</b>");
    for (width, height) in [(375, 700), (1000, 800)] {
        page.size(width, height).await;
        let widths = page.eval("[document.documentElement.scrollWidth, innerWidth]").await;
        assert_eq!(widths[0], widths[1]);
        for scheme in ["light", "dark"] {
            page.scheme(scheme).await;
            page.until("document.getAnimations().every((it) => it.playState !== 'running')").await;
            page.eval(AXE).await;
            let found = page.eval(AXE_RUN).await;
            assert_eq!(found, json!([]), "{width} {scheme}");
        }
        if let Ok(folder) = std::env::var("COUNTERSIGN_PICTURES") {
            let file = std::path::Path::new(&folder).join(format!("passkeys-{width}.png"));
            page.picture(&file).await;
        }
    }
    // The same authenticator makes no second one.
    page.write("again").await;
    page.click("#passkey-name").await;
    page.write("again").await;
    page.click("#passkey-add").await;
    page.until("document.querySelector('#passkey-said').innerText.includes('already')").await;
    // Out, and in again with nothing else.
    page.click("#sign-out").await;
    page.until("document.querySelector('#passkey-door')?.hidden === false").await;
    idp.sign_in(Value::Null);
    page.click("#passkey-door a").await;
    page.until("document.querySelector('#passkey') && !document.querySelector('#passkey').hidden")
        .await;
    // Not by somebody else's finger.
    page.verifies(&authenticator, false).await;
    page.click("#passkey").await;
    page.until("document.querySelector('#said').innerText.startsWith('No passkey was used')").await;
    page.verifies(&authenticator, true).await;
    page.click("#passkey").await;
    page.until("document.querySelector('#line')?.dataset.state === 'live'").await;
    page.until("!document.querySelector('#me').hidden").await;
    assert_eq!(page.eval("document.querySelector('#me bdi').innerText").await, "Ana");
    let id = daemon.ask(&shell("git push origin main")).await;
    page.until("document.querySelector('[data-slot=Approve]')").await;
    page.until("!document.querySelector('.settling, [aria-busy=true]')").await;
    page.click("[data-slot=Approve]").await;
    assert_eq!(daemon.closed(&id).await["reason"], "approved by Ana");
    // She removes it in a second press, and what it began ends with it.
    page.click("#me").await;
    page.until("document.querySelector('#passkey-list button')").await;
    page.click("#passkey-list button").await;
    assert_eq!(
        page.eval("document.querySelector('#passkey-list button').innerText").await,
        "Really remove"
    );
    page.click("#passkey-list button").await;
    page.until("document.querySelector('#line').dataset.state !== 'live'").await;
    page.go(&format!("{PUBLIC}/sign-in")).await;
    page.until("!document.querySelector('#passkey').hidden").await;
    page.click("#passkey").await;
    page.until("document.querySelector('#said').innerText.startsWith('This passkey is not valid')")
        .await;
    assert_eq!(events(&daemon, "passkey_removed").await.len(), 1);
}
