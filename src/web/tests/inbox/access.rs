//! Who gets in, and who is kept out.

use crate::support::{Desk, TOKEN, cards::command};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn the_token_gives_a_strict_cookie_and_takes_itself_out_of_the_address() {
    let desk = Desk::open().await;
    let get =
        format!("GET /?token={TOKEN} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", desk.at);
    let answer = raw(&desk, &get).await;
    assert_eq!(status(&answer), "303");
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie:")).unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Max-Age"), "it ends with the browser: {cookie}");
    assert!(answer.contains("\r\nlocation: /?open="), "{answer}");
    assert!(!answer.replace(&get, "").contains(TOKEN), "the token itself is not handed on");
}

#[tokio::test]
async fn without_the_right_token_the_door_stays_closed_and_says_where_the_address_is() {
    let desk = Desk::open().await;
    for path in ["/", "/?token=", "/?token=wrong", "/?token=A-TOKEN-OF-THE-TESTS"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", desk.at);
        let answer = raw(&desk, &request).await;
        assert_eq!(status(&answer), "401", "{path}");
        assert!(!answer.contains("set-cookie"), "{path}");
        assert!(answer.contains("<code class=\"in\">countersign serve</code> prints"), "{path}");
    }
}

#[tokio::test]
async fn the_cookie_alone_opens_the_empty_page_but_no_card_and_no_press() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "cat secret-plan")).await;
    let visitor = desk.visitor().await;
    // A server on another port of this host is sent the cookie, but never the key.
    let thief = reqwest::Client::new();
    let page = thief.get(&visitor.base).header("cookie", &visitor.cookie).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    assert!(!page.contains("secret-plan") && !page.contains(&visitor.key));
    let cookie = visitor.cookie.split('=').nth(1).unwrap();
    for proof in [None, Some(""), Some("wrong"), Some("a.b"), Some(cookie), Some(&*visitor.key)] {
        let events = thief.get(format!("{}/inbox/events", visitor.base));
        let press = thief.post(format!("{}/inbox/press", visitor.base));
        for request in [events, press.json(&json!({ "card": "one", "token": "one.1.a" }))] {
            let mut request = request.header("cookie", &visitor.cookie);
            request = request.header("origin", &visitor.base);
            if let Some(proof) = proof {
                request = request.header("x-countersign-inbox", proof);
            }
            let refused = request.send().await.unwrap();
            assert_eq!(refused.status(), 401);
            let error = "This page has no access. Open the link printed by `countersign open`.";
            assert_eq!(refused.json::<Value>().await.unwrap(), json!({ "error": error }));
        }
    }
    assert!(desk.presses.try_recv().is_err());
}

#[tokio::test]
async fn a_request_that_was_seen_opens_nothing_a_second_time_and_nothing_else() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let body = json!({ "card": "one", "token": "one.1.d" }).to_string();
    let seen = visitor.post(&body).await.unwrap().build().unwrap();
    let other = json!({ "card": "one", "token": "one.1.a" }).to_string();
    let mut changed = seen.try_clone().unwrap();
    *changed.body_mut() = Some(other.into());
    changed.headers_mut().remove("content-length");
    let client = reqwest::Client::new();
    assert_eq!(client.execute(changed).await.unwrap().status(), 401, "another press");
    let first = client.execute(seen.try_clone().unwrap()).await.unwrap();
    assert_eq!(first.status(), 200);
    assert_eq!(client.execute(seen).await.unwrap().status(), 401, "the same again");
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.d");
    assert!(desk.presses.try_recv().is_err(), "nothing else reached the core");
}

#[tokio::test]
async fn no_page_lives_under_the_name_localhost() {
    let desk = Desk::open().await;
    let port = desk.at.port();
    for name in ["localhost", "LocalHost"] {
        let get = format!(
            "GET /?token={TOKEN} HTTP/1.1\r\nhost: {name}:{port}\r\nconnection: close\r\n\r\n"
        );
        let answer = raw(&desk, &get).await;
        assert_eq!(status(&answer), "303", "{answer}");
        let on = format!("\r\nlocation: http://127.0.0.1:{port}/?token={TOKEN}\r\n");
        assert!(answer.contains(&on), "{answer}");
        assert!(!answer.contains("set-cookie") && !answer.contains("#key="), "{answer}");
    }
    let get = format!(
        "GET /?token=a%0d%0ax HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(status(&raw(&desk, &get).await), "401", "what is no token goes nowhere");
}

#[tokio::test]
async fn the_key_without_the_cookie_opens_nothing() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let client = reqwest::Client::new();
    let proof = visitor.proof("GET", "/inbox/events", "").await.unwrap();
    let request = client.get(format!("{}/inbox/events", visitor.base));
    let refused = request.header("x-countersign-inbox", &proof.header).send().await.unwrap();
    assert_eq!(refused.status(), 401);
}

#[tokio::test]
async fn a_press_from_another_site_is_refused() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let body = json!({ "card": "one", "token": "one.1.a" }).to_string();
    let port = desk.at.port();
    let cases = [
        ("origin", "https://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("http://localhost:{port}")),
        ("origin", "http://127.0.0.1:3000".to_owned()),
    ];
    for (name, value) in cases {
        let mut request = visitor.post(&body).await.unwrap().build().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        let refused = reqwest::Client::new().execute(request).await.unwrap();
        assert_eq!(refused.status(), 403, "{name}: {value}");
        let said: Value = refused.json().await.unwrap();
        assert!(said["error"].as_str().unwrap().contains("another site"), "{said}");
    }
    for site in ["cross-site", "same-site", "none"] {
        let refused = visitor.post(&body).await.unwrap().header("sec-fetch-site", site);
        assert_eq!(refused.send().await.unwrap().status(), 403, "{site}");
    }
    let mut silent = visitor.post(&body).await.unwrap().build().unwrap();
    silent.headers_mut().remove("origin");
    assert_eq!(reqwest::Client::new().execute(silent).await.unwrap().status(), 403);
    assert!(desk.presses.try_recv().is_err(), "nothing reached the core");
    let own = visitor.post(&body).await.unwrap().header("sec-fetch-site", "same-origin");
    assert_eq!(own.send().await.unwrap().status(), 200);
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
}

#[tokio::test]
async fn a_host_name_that_is_not_the_inboxs_is_refused_on_every_path() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    for path in ["/", &format!("/?token={TOKEN}"), "/inbox/events", "/inbox/inbox.js"] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: evil.example:{}\r\ncookie: {}\r\nx-countersign-inbox: \
             {}\r\nconnection: close\r\n\r\n",
            desk.at.port(),
            visitor.cookie,
            visitor.key
        );
        let answer = raw(&desk, &request).await;
        assert_eq!(status(&answer), "403", "{path}");
        assert!(answer.contains("This host name is not the inbox's."), "{path}");
        assert!(!answer.contains("set-cookie"), "{path}");
    }
}

#[tokio::test]
async fn under_the_public_name_the_cookie_is_for_https_only_and_presses_count() {
    let mut desk = Desk::open().await;
    let get = format!(
        "GET /?token={TOKEN} HTTP/1.1\r\nhost: approve.example\r\nconnection: close\r\n\r\n"
    );
    let answer = raw(&desk, &get).await;
    assert_eq!(status(&answer), "303");
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie:")).unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{cookie}");

    // The proxy speaks to the listener under its address, and the page names its own origin.
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let body = json!({ "card": "one", "token": "one.1.a" }).to_string();
    let sent = |request: reqwest::RequestBuilder, origin: &'static str| async move {
        let mut request = request.build().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        reqwest::Client::new().execute(request).await.unwrap().status().as_u16()
    };
    let press = visitor.post(&body).await.unwrap();
    assert_eq!(sent(press, "https://evil.example").await, 403);
    assert!(desk.presses.try_recv().is_err(), "nothing reached the core");
    let press = visitor.post(&body).await.unwrap();
    assert_eq!(sent(press, "https://approve.example").await, 200);
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
}

#[tokio::test]
async fn every_answer_keeps_the_page_to_itself() {
    let desk = Desk::open().await;
    let client = reqwest::Client::new();
    for path in ["/", "/inbox/inbox.js", "/inbox/base.css", "/inbox/events", "/inbox/nothing"] {
        let answer = client.get(format!("http://{}{path}", desk.at)).send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap();
        let policy = header("content-security-policy");
        for part in ["default-src 'none'; ", "script-src 'self'; ", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert!(answer.headers().get("access-control-allow-origin").is_none(), "{path}");
    }
}

#[tokio::test]
async fn the_pages_files_come_compressed_and_are_kept_under_the_address_of_this_start_alone() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let client = reqwest::Client::new();
    let page = client.get(&visitor.base).header("cookie", &visitor.cookie).send().await.unwrap();
    let page = page.text().await.unwrap();
    let script = page.split("src=\"").find(|rest| rest.contains("inbox.js\"")).unwrap();
    let script = script.split('"').next().unwrap();
    let get = |path: String, accepts: &'static str| {
        let request = client.get(format!("http://{}{path}", desk.at));
        let request = request.header("accept-encoding", accepts);
        async move {
            let answer = request.send().await.unwrap();
            let header = |name: &str| answer.headers().get(name).map(|it| it.to_str().unwrap());
            let encoding = header("content-encoding").map(str::to_owned);
            let kept = header("cache-control").unwrap().to_owned();
            (encoding, kept, answer.bytes().await.unwrap())
        }
    };
    let kept = "private, max-age=31536000, immutable";
    let (encoding, cache, small) = get(script.to_owned(), "gzip, br").await;
    assert_eq!((encoding.as_deref(), &*cache, &small[..2]), (Some("gzip"), kept, &b"\x1f\x8b"[..]));
    let (encoding, cache, whole) = get(script.to_owned(), "br").await;
    assert_eq!((encoding, &*cache), (None, kept));
    assert!(whole.len() > 2 * small.len() && whole.starts_with(b"const $$"), "the script itself");
    for other in ["/inbox/inbox.js", "/inbox/AAAAAAAAAAAAAAAA/inbox.js"] {
        let (_, cache, same) = get(other.to_owned(), "br").await;
        assert_eq!((&*cache, same), ("no-store", whole.clone()), "{other}");
    }
    let nothing = script.replace("inbox.js", "nothing.js");
    assert_eq!(get(nothing, "gzip").await.1, "no-store");
}

/// Sends bytes and reads the whole answer: for requests that a client library would not send.
async fn raw(desk: &Desk, request: &str) -> String {
    let mut stream = TcpStream::connect(desk.at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}
