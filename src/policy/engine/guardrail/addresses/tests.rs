#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::engine::guardrail::addresses::*;
use crate::shell::scan;

fn judged(text: &str) -> &'static str {
    let here = ["mill".to_owned(), "mill.local".to_owned(), "10.0.0.5".to_owned()];
    let addresses = Addresses::new(["127.0.0.1:7117".to_owned()], &here);
    match addresses.judge(&scan(text).commands.last().unwrap().argv) {
        None => "-",
        Some(GuardrailHit::Asks(_)) => "asks",
        Some(GuardrailHit::Denied(_)) => "denied",
    }
}

#[test]
fn every_spelling_of_this_machine_is_known() {
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "LocalHost",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.53",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "0.0.0.0",
        "0",
        "[::]",
        "localhost.",
        "127.0.0.1.",
        "ip6-localhost",
        "a.b.localhost",
        "mill",
        "MILL",
        "mill.local",
        "10.0.0.5",
        "[::ffff:10.0.0.5]",
        "user@localhost",
        "u:p@127.1",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "localhost.localdomain",
        "",
    ] {
        let url = format!("curl 'http://{host}:7117/v1/asks'");
        assert_eq!(judged(&url), "denied", "{url}");
    }
}

#[test]
fn the_port_finds_it_by_other_ways_too() {
    for text in [
        "curl localhost:7117",
        "curl --url=localhost:7117/v1",
        "curl http://localhost:07117",
        "nc 127.1 7117",
        "nc -v localhost 7117",
        "telnet ::1 7117",
        "socat - TCP:localhost:7117",
        "socat - TCP4:127.0.0.1:7117,retry=3",
        "ssh -L 9000:localhost:7117 x",
        "curl --resolve x.example:7117:127.0.0.1 http://x.example:7117/",
        "curl --connect-to ::127.0.0.1:7117 http://x/",
        "curl -x localhost:7117 http://x/",
        "cat /dev/tcp/127.1/7117",
        "python3 -c 'urlopen(\"http://localhost:7117/\")'",
    ] {
        assert_eq!(judged(text), "denied", "{text}");
    }
    for text in [
        "curl http://lvh.me:7117/",
        "curl \"http://$H:7117/\"",
        "nc \"$H\" 7117",
        "curl 'http://{localhost,x}:7117'",
    ] {
        assert_eq!(judged(text), "asks", "{text}");
    }
    for text in [
        "curl http://localhost:71170/",
        "curl http://localhost:17117/",
        "curl http://10.0.0.9:7117/",
        "echo 7117",
        "curl http://localhost:3000/",
        "git log -7117",
        "ls x7117",
    ] {
        assert_eq!(judged(text), "-", "{text}");
    }
}

#[test]
fn values_of_a_tool_are_read_as_a_client_reads_them() {
    let here = ["mill".to_owned()];
    let own = ["127.0.0.1:7117".to_owned(), "db.example:5432".to_owned()];
    let addresses = Addresses::new(own, &here);
    let judged = |values: &[&str]| match addresses.judge_values(values) {
        None => "-",
        Some(GuardrailHit::Asks(_)) => "asks",
        Some(GuardrailHit::Denied(_)) => "denied",
    };
    let rows: [(&[&str], &str); 15] = [
        (&["http://lvh.me:7117/v1/asks"], "asks"),
        (&["http://lvh.me:07117/"], "asks"),
        (&["wss://user@lvh.me:7117"], "asks"),
        (&["lvh.me:7117"], "asks"),
        (&["http://lvh.me:71\t17/", "markdown"], "asks"),
        (&["http://127.0.0.1:71\n17/"], "denied"),
        (&["http:mill:7117"], "denied"),
        (&["  http:\\\\2130706433:7117"], "denied"),
        (&["localhost", "7117"], "denied"),
        (&["db.example", "5432"], "denied"),
        (&["http://other.example:5432/"], "asks"),
        (&["docs.example", "7117"], "-"),
        (&["http://lvh.me:8080/", "http://93.184.216.34:7117/"], "-"),
        (&["http://lvh.me/7117"], "-"),
        (&["localhost", "8080"], "-"),
    ];
    for (values, wanted) in rows {
        assert_eq!(judged(values), wanted, "{values:?}");
    }
}

#[test]
fn a_public_address_is_found_in_every_spelling_and_other_hosts_and_ports_are_not() {
    let own = PublicAddress::new("https://approve.example:8443").unwrap();
    let default = PublicAddress::new("https://approve.example").unwrap();
    let cases: [(&[&str], bool, bool); 11] = [
        (&["curl", "https://approve.example:8443/inbox/press"], true, false),
        (&["curl", "https://me@APPROVE.example.:8443"], true, false),
        (&["curl", "https://approve%2Eexample:8443/"], true, false),
        (&["nc", "approve.example", "8443"], true, true),
        (&["curl", "https://approve.example/v1/asks"], false, true),
        (&["curl", "--connect-to=approve.example:443:10.0.0.1:80"], false, true),
        (&["curl", "approve.example:"], false, true),
        (&["curl", "https://approve.example:9000/"], false, false),
        (&["curl", "https://docs.example:8443/"], false, false),
        (&["curl", "https://notapprove.example/", "https://example/"], false, false),
        (&["echo", "approve", "8443"], false, false),
    ];
    for (words, at_port, at_default) in cases {
        assert_eq!(own.forbid(words.iter().copied()).is_some(), at_port, "{words:?}");
        assert_eq!(default.forbid(words.iter().copied()).is_some(), at_default, "{words:?}");
    }
    assert_eq!(
        default.forbid(["https://approve.example"].into_iter()).as_deref(),
        Some("https://approve.example is countersign's own address. Agents may not use it.")
    );
}
