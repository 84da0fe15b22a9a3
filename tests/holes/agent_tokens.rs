//! Agents by name: what a token's holder may do, and what nobody else may do in its name.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    inbox_visitor::Visitor,
    process::run,
    telegram_server::GROUP,
    world::{World, texts},
};
use serde_json::{Value, json};

/// Makes a token, and returns it.
pub async fn token(daemon: &Daemon, name: &str, more: Value) -> String {
    let mut new = json!({ "name": name });
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, reply) = daemon.post("/v1/tokens", APPROVER, &new).await;
    assert_eq!(status, 200, "{reply}");
    reply["token"].as_str().unwrap().to_owned()
}

pub async fn submit(daemon: &Daemon, token: &str, call: &Value) -> (u16, Value) {
    daemon.post("/v1/calls", token, call).await
}

/// Submits a call that has to be asked; returns the ask's id.
pub async fn ask(daemon: &Daemon, token: &str, command: &str) -> String {
    let (status, body) = submit(daemon, token, &shell(command)).await;
    assert_eq!((status, &body["verdict"]), (202, &json!("ask")), "{body}");
    body["ask"].as_str().unwrap().to_owned()
}

pub async fn delete(daemon: &Daemon, path: &str, token: &str) -> (u16, Value) {
    let request = daemon.http.delete(format!("{}{path}", daemon.url)).bearer_auth(token);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// The ids of the asks that a token's holder reads in a list.
async fn listed(daemon: &Daemon, token: &str, path: &str) -> Vec<Value> {
    let (status, page) = daemon.get(path, token).await;
    assert_eq!(status, 200, "{page}");
    page["asks"].as_array().unwrap().iter().map(|ask| ask["id"].clone()).collect()
}

#[tokio::test]
async fn an_agent_has_its_tokens_name_on_every_surface_and_its_own_word_as_a_claim() {
    let world = World::start("").await;
    let bot = token(&world.daemon, "deploy-bot", json!({})).await;
    let id = ask(&world.daemon, &bot, "git push origin main").await;
    let shown = world.shown(&id).await;
    for (surface, text) in shown.each() {
        assert!(text.contains("deploy-bot"), "{surface}: {text}");
        assert!(text.contains("says it is tester"), "{surface}: {text}");
    }
    assert_eq!(world.press(shown.message, "Approve").await, "Approved once.");
    let record = world.daemon.get(&format!("/v1/history/{id}"), &bot).await.1;
    assert_eq!(
        (&record["call"]["agent"], &record["call"]["claims"]),
        (&json!("deploy-bot"), &json!("tester"))
    );
    let history = run(&world.daemon, &["history", "--json"]).await;
    assert!(history.stdout.contains(r#""agent": "deploy-bot""#), "{}", history.stdout);
    // A claim that a caller writes itself proves nothing.
    let mut call = shell("git push origin next");
    call["claims"] = json!("the boss");
    let (_, body) = submit(&world.daemon, AGENT, &call).await;
    let ask = world.daemon.read(body["ask"].as_str().unwrap()).await;
    assert_eq!((&ask["call"]["agent"], ask["call"].get("claims")), (&json!("tester"), None));
    world.is_clean();
}

#[tokio::test]
async fn a_token_revoked_while_its_ask_is_open_ends_it_on_every_surface() {
    let world = World::start("").await;
    let (bot, other) = (
        token(&world.daemon, "bot", json!({})).await,
        token(&world.daemon, "other", json!({})).await,
    );
    let kept = ask(&world.daemon, &other, "git push origin kept").await;
    let request = world.daemon.http.post(format!("{}/v1/calls?wait=30", world.daemon.url));
    let request = request.bearer_auth(&bot).json(&shell("git push origin main"));
    let waiting = tokio::spawn(async move { request.send().await.unwrap().json().await.unwrap() });
    let look = || {
        let cards = world.telegram.open_cards(GROUP);
        cards.into_iter().find(|card| card.text.contains("origin main"))
    };
    let card = world.telegram.until("the card", look).await;
    let approve = world.telegram.button(GROUP, card.id, "Approve");
    let posted = world.discord.until(|message| message.text.contains("origin main")).await;
    let visitor = Visitor::enter(&world.daemon.inbox).await;
    let mut inbox = visitor.follow().await;
    let shown = inbox.card(|card| texts(card).contains("origin main")).await;

    let (status, reply) = delete(&world.daemon, "/v1/tokens/bot", APPROVER).await;
    assert_eq!((status, &reply["revoked"]["state"]), (200, &json!("revoked")), "{reply}");
    let told: Value = waiting.await.unwrap();
    assert_eq!((&told["verdict"], &told["state"]), (&json!("deny"), &json!("cancelled")));
    assert_eq!(told["reason"], "cancelled: its token was revoked");
    let over = || Some(world.telegram.message(GROUP, card.id)).filter(|card| card.is_over());
    let over = world.telegram.until("the card says so", over).await;
    assert!(over.text.contains("its token was revoked"), "{}", over.text);
    let over = |message: &crate::discord_server::Posted| {
        message.reference == posted.reference && message.is_over()
    };
    let over = world.discord.until(over).await;
    assert!(over.text.contains("its token was revoked"), "{}", over.text);
    let id = shown["card"]["ask"].clone();
    let over =
        |card: &Value| card["card"]["ask"] == id && texts(card).contains("its token was revoked");
    let over = inbox.card(over).await;
    assert!(!texts(&over).contains("Approve"), "no button is left: {over}");
    // A press that comes too late approves nothing.
    let query = world.telegram.press_data(GROUP, card.id, &approve, crate::telegram_server::ANA);
    let late = world.telegram.told(&query).await.text;
    assert!(!late.starts_with("Approved"), "{late}");

    let (status, refused) = submit(&world.daemon, &bot, &shell("ls")).await;
    let why = "the agent `bot` is refused: its token was revoked";
    assert_eq!((status, &refused["error"]), (401, &json!(why)));
    assert_eq!(world.daemon.get(&format!("/v1/asks/{kept}"), &other).await.1["state"], "open");
    world.is_clean();
}

#[tokio::test]
async fn nobody_without_its_token_acts_in_an_agents_name() {
    let daemon = Daemon::start("").await;
    let (bot, other) =
        (token(&daemon, "bot", json!({})).await, token(&daemon, "other", json!({})).await);
    let mut call = shell("git push origin main");
    call["key"] = json!("k1");
    let (_, mine) = submit(&daemon, &bot, &call).await;
    let mine = mine["ask"].as_str().unwrap();
    // Its name, with the shared token, an approver's and no token at all.
    call["agent"] = json!("bot");
    for token in [AGENT, APPROVER] {
        let (status, refused) = submit(&daemon, token, &call).await;
        assert_eq!(status, 403, "{refused}");
        let why = "`bot` is the name of an agent with a token of its own; show that token, or use \
                   another name";
        assert_eq!(refused["error"], why);
    }
    let hooked = run(&daemon, &["ask", "--agent", "bot", "--no-wait", "--", "ls", "-l"]).await;
    assert_ne!(hooked.code, Some(0), "{hooked:?}");
    assert!(hooked.stderr.contains("is the name of an agent"), "{hooked:?}");
    // Its key, with another agent's token, is another ask.
    let (_, theirs) = submit(&daemon, &other, &call).await;
    assert_ne!(theirs["ask"], mine);
    // Its session: another agent's words end another session.
    for act in ["abort", "end"] {
        let path = format!("/v1/sessions/one/{act}");
        let body = json!({"agent": "bot"});
        assert_eq!(daemon.post(&path, AGENT, &body).await.0, 403, "{act}");
        daemon.post(&path, &other, &body).await;
        assert_eq!(daemon.get(&format!("/v1/asks/{mine}"), &bot).await.1["state"], "open");
    }
    let ended = daemon.post("/v1/sessions/one/end", &bot, &json!({"agent": "tester"})).await;
    assert_eq!(ended, (200, json!({"cancelled": 1})));
    // What its session was granted covers no other token that gets its name.
    let mut publish = shell("cargo publish");
    publish["key"] = json!("k2");
    let id = submit(&daemon, &bot, &publish).await.1["ask"].as_str().unwrap().to_owned();
    let session = json!({"decision": "approve", "scope": "session"});
    assert_eq!(daemon.answer(&id, &session).await.1["applied"], true);
    assert_eq!(submit(&daemon, &bot, &shell("cargo publish")).await.1["verdict"], "allow");
    assert_eq!(submit(&daemon, &other, &shell("cargo publish")).await.1["verdict"], "ask");
    assert_eq!(delete(&daemon, "/v1/tokens/bot", APPROVER).await.0, 200);
    let heir = token(&daemon, "bot", json!({})).await;
    assert_eq!(submit(&daemon, &heir, &shell("cargo publish")).await.1["verdict"], "ask");
    let (status, refused) = submit(&daemon, &heir, &publish).await;
    assert_eq!(status, 409, "the key of the one before: {refused}");
    assert_eq!(daemon.get(&format!("/v1/asks/{id}"), &heir).await.0, 404);
}

#[tokio::test]
async fn nobody_without_its_token_takes_a_name_that_people_would_take_for_an_agents() {
    let daemon = Daemon::start("").await;
    let bot = token(&daemon, "deploy-bot", json!({})).await;
    let mut call = shell("git push origin main");
    for like in ["Deploy-Bot", "deploy_bot", "deploy bot", "dep1oy-b0t", "d\u{435}ploy-bot"] {
        call["agent"] = json!(like);
        for token in [AGENT, APPROVER] {
            let (status, refused) = submit(&daemon, token, &call).await;
            let why = refused["error"].as_str().unwrap().to_owned();
            assert_eq!((status, why.contains("looks like `deploy-bot`")), (403, true), "{why}");
        }
        let path = "/v1/sessions/one/end";
        assert_eq!(daemon.post(path, AGENT, &json!({"agent": like})).await.0, 403, "{like}");
    }
    // Nor is a token made for such a name: people would take one agent for the other.
    let new = json!({"name": "Deploy.Bot"});
    let (status, refused) = daemon.post("/v1/tokens", APPROVER, &new).await;
    assert_eq!(status, 400, "{refused}");
    // With a token of its own it says what it likes: the card shows the token's name.
    call["agent"] = json!("Deploy-Bot");
    assert_eq!(submit(&daemon, &bot, &call).await.0, 202);
    // A name of its own is everybody's.
    call["agent"] = json!("deployer");
    assert_eq!(submit(&daemon, AGENT, &call).await.0, 202);
}

#[tokio::test]
async fn an_agent_reads_and_cancels_only_what_it_asked() {
    let daemon = Daemon::start("").await;
    let (bot, other) =
        (token(&daemon, "bot", json!({})).await, token(&daemon, "other", json!({})).await);
    let eye = token(&daemon, "eye", json!({"sees_all": true})).await;
    let mine = ask(&daemon, &bot, "git push origin main").await;
    let shared = ask(&daemon, AGENT, "git push origin shared").await;
    for (token, sees) in [
        (&*bot, vec![json!(mine)]),
        (&other, vec![]),
        (AGENT, vec![json!(shared)]),
        (&eye, vec![json!(mine), json!(shared)]),
        (APPROVER, vec![json!(mine), json!(shared)]),
    ] {
        assert_eq!(listed(&daemon, token, "/v1/asks").await, sees, "open");
    }
    let one = format!("/v1/asks/{mine}");
    let short = format!("/v1/asks/{}", &mine[..4]);
    for path in [&one, &short, &format!("{one}?wait=1"), &format!("/v1/history/{mine}")] {
        for (token, status) in [(&*other, 404), (AGENT, 404), (&bot, 200), (&eye, 200)] {
            assert_eq!(daemon.get(path, token).await.0, status, "{path}");
        }
    }
    let cancel = format!("{one}/cancel");
    for (token, status) in [(&*other, 404), (AGENT, 404), (&eye, 403)] {
        assert_eq!(daemon.post(&cancel, token, &json!({})).await.0, status);
    }
    for (path, body) in [("answer", json!({"decision": "approve"})), ("undo", json!({}))] {
        for token in [&bot, &eye, &other] {
            let (status, _) = daemon.post(&format!("{one}/{path}"), token, &body).await;
            assert_eq!(status, 403, "an agent never answers");
        }
    }
    // One that only watches and leaves cancels nothing.
    let watching = daemon.http.get(format!("{}{one}?wait=30", daemon.url)).bearer_auth(&eye);
    let watching = tokio::time::timeout(std::time::Duration::from_millis(300), watching.send());
    assert!(watching.await.is_err());

    let events = |token: String| {
        let (http, url) = (daemon.http.clone(), daemon.url.clone());
        async move {
            let request = http.get(format!("{url}/v1/events?last=100&follow=false"));
            request.bearer_auth(token).send().await.unwrap().text().await.unwrap()
        }
    };
    assert_eq!(submit(&daemon, &bot, &shell("countersign approve x")).await.1["verdict"], "deny");
    let (own, others, all) =
        (events(bot.clone()).await, events(other.clone()).await, events(eye.clone()).await);
    assert!(own.contains(&mine) && own.contains("event: ruled") && !own.contains(&shared), "{own}");
    assert!(!others.contains(&mine) && !others.contains("ruled"), "{others}");
    assert!(!others.contains("bot") && others.contains("token_added"), "its own: {others}");
    let by_handle = events(AGENT.to_owned()).await;
    assert!(by_handle.contains(&shared) && !by_handle.contains("bot"), "{by_handle}");
    assert!(all.contains(&mine) && all.contains(&shared), "{all}");

    assert_eq!(daemon.get("/v1/sessions", &bot).await.0, 403);
    assert_eq!(daemon.post(&cancel, &bot, &json!({})).await.1["state"], "cancelled");
    assert_eq!(listed(&daemon, &bot, "/v1/history").await, [json!(mine)]);
    assert_eq!(listed(&daemon, &other, "/v1/history").await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_agent_lists_its_own_session_grant_and_no_other_agents() {
    let daemon = Daemon::start("").await;
    let (bot, other) =
        (token(&daemon, "bot", json!({})).await, token(&daemon, "other", json!({})).await);
    let mut call = shell("cargo publish");
    call["session_secret"] = json!("the-secret-of-this-session");
    let id = submit(&daemon, &bot, &call).await.1["ask"].as_str().unwrap().to_owned();
    let session = json!({"decision": "approve", "scope": "session"});
    assert_eq!(daemon.answer(&id, &session).await.1["applied"], true);
    for (token, count) in [(&*bot, 1), (&other, 0), (AGENT, 0), (APPROVER, 1)] {
        let (_, page) = daemon.get("/v1/grants", token).await;
        assert_eq!(page["grants"].as_array().unwrap().len(), count, "{page}");
    }
}

#[tokio::test]
async fn a_stream_of_events_ends_with_its_readers_token() {
    let daemon = Daemon::start("").await;
    let eye = token(&daemon, "eye", json!({"sees_all": true})).await;
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(&eye);
    let mut stream = request.send().await.unwrap();
    let first = ask(&daemon, AGENT, "git push origin main").await;
    let mut read = String::new();
    while !read.contains(&first) {
        let chunk = stream.chunk().await.unwrap().expect("the stream goes on");
        read.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert_eq!(delete(&daemon, "/v1/tokens/eye", APPROVER).await.0, 200);
    let second = ask(&daemon, AGENT, "git push origin next").await;
    let mut rest = String::new();
    while let Ok(Some(chunk)) = stream.chunk().await {
        rest.push_str(&String::from_utf8_lossy(&chunk));
    }
    assert!(!rest.contains(&second), "{rest}");
}

#[tokio::test]
async fn a_rotated_token_is_over_at_once_or_after_its_overlap_and_an_ended_one_asks_nothing() {
    let daemon = Daemon::start("").await;
    let first = token(&daemon, "bot", json!({})).await;
    let mine = ask(&daemon, &first, "git push origin main").await;
    let rotate = async |body: Value| {
        let (status, reply) = daemon.post("/v1/tokens/bot/rotate", APPROVER, &body).await;
        assert_eq!(status, 200, "{reply}");
        reply["token"].as_str().unwrap().to_owned()
    };
    let second = rotate(json!({})).await;
    assert_eq!(daemon.get("/v1/asks", &first).await.0, 401, "no overlap unless it is wanted");
    assert_eq!(listed(&daemon, &second, "/v1/asks").await, [json!(mine)], "the same agent");
    let third = rotate(json!({"overlap_s": 3600})).await;
    assert_eq!(daemon.get("/v1/asks", &second).await.0, 200);
    let fourth = rotate(json!({"overlap_s": 3600})).await;
    for (token, status) in [(&first, 401), (&second, 401), (&third, 200), (&fourth, 200)] {
        assert_eq!(daemon.get("/v1/asks", token).await.0, status);
    }
    let (status, refused) =
        daemon.post("/v1/tokens/bot/rotate", APPROVER, &json!({"overlap_s": 3601})).await;
    assert_eq!(status, 400, "{refused}");
    let short = token(&daemon, "short", json!({"expires_in_s": 3})).await;
    let id = ask(&daemon, &short, "git push origin short").await;
    let closed = daemon.closed(&id).await;
    assert_eq!(
        (&closed["state"], &closed["reason"]),
        (&json!("cancelled"), &json!("cancelled: its token expired"))
    );
    let (status, refused) = submit(&daemon, &short, &shell("ls")).await;
    let why = "the agent `short` is refused: its token expired";
    assert_eq!((status, &refused["error"]), (401, &json!(why)));
}

#[tokio::test]
async fn only_approvers_manage_tokens_and_no_list_shows_one() {
    let daemon = Daemon::start("").await;
    let bot = token(&daemon, "bot", json!({})).await;
    for token in [AGENT, &bot] {
        assert_eq!(daemon.get("/v1/tokens", token).await.0, 403);
        assert_eq!(daemon.post("/v1/tokens", token, &json!({"name": "x"})).await.0, 403);
        assert_eq!(daemon.post("/v1/tokens/bot/rotate", token, &json!({})).await.0, 403);
        assert_eq!(delete(&daemon, "/v1/tokens/bot", token).await.0, 403);
    }
    for (new, status) in [
        (json!({"name": "bot"}), 409),
        (json!({"name": "default"}), 400),
        (json!({"name": ""}), 400),
        (json!({"name": "b\u{43e}t"}), 400),
        (json!({"name": "a b"}), 400),
        (json!({"name": "x".repeat(41)}), 400),
        (json!({"name": "x", "expires_in_s": 0}), 400),
        (json!({"name": "x", "expires_in_s": u64::MAX}), 400),
        (json!({"name": "x", "sees": true}), 400),
    ] {
        let (refused, why) = daemon.post("/v1/tokens", APPROVER, &new).await;
        assert_eq!(refused, status, "{new}: {why}");
    }
    assert_eq!(delete(&daemon, "/v1/tokens/nobody", APPROVER).await.0, 404);

    let approver = |args: &[&str]| {
        let mut command = daemon.command(args);
        command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
        command
    };
    let out = async |args: &[&str]| {
        let output = approver(args).output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, printed) = out(&["token", "add", "worker", "--expires", "30d"]).await;
    let made = printed.trim().to_owned();
    assert_eq!((code, made.len()), (Some(0), 43), "the token alone is on stdout: {printed}");
    ask(&daemon, &made, "git push origin main").await;
    let (_, list) = out(&["token", "list"]).await;
    let row = list.lines().find(|line| line.starts_with("worker")).unwrap();
    for words in ["active", "reads its own asks", "last used", "ends "] {
        assert!(row.contains(words), "{words}: {list}");
    }
    let (_, json) = out(&["token", "list", "--json"]).await;
    let events = daemon.http.get(format!("{}/v1/events?last=100&follow=false", daemon.url));
    let events = events.bearer_auth(APPROVER).send().await.unwrap().text().await.unwrap();
    assert!(events.contains("event: token_added"), "{events}");
    for text in [&list, &json, &events, &daemon.said()] {
        assert!(!text.contains(&made) && !text.contains(&bot), "{text}");
        assert!(!text.contains("sha256:"), "{text}");
    }
    let store = std::fs::read(daemon.dir.path().join("state/countersign.db")).unwrap();
    let holds = |secret: &str| store.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
    assert!(!holds(&made) && !holds(&bot), "only hashes are stored");
    let (code, _) = out(&["token", "revoke", "worker"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(daemon.get("/v1/asks", &made).await.0, 401);
}
