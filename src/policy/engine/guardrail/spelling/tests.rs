use crate::engine::guardrail::spelling::*;

fn spelled(text: &str) -> Vec<String> {
    let expansions = Expansions { home: Some("/home/u"), variables: true };
    let all = expansions.of(text).into_iter();
    all.map(|spelling| spelling.text.replace(UNKNOWN, "¿")).collect()
}

#[test]
fn a_text_is_read_as_a_shell_may_read_it() {
    for (text, first) in [
        ("~/.config", "/home/u/.config"),
        ("$HOME/.config", "/home/u/.config"),
        ("${HOME}/.config", "/home/u/.config"),
        ("~+/..", "./.."),
        ("$PWD/..", "./.."),
        ("~bob/x", "¿/x"),
        ("~-/x", "¿/x"),
        ("$X/y", "¿/y"),
        ("a$(pwd)b`x`c", "a¿b¿c"),
        ("x-$$.txt", "x-0.txt"),
        ("$((1 + 2))", "0"),
        ("{}/x", "¿/x"),
    ] {
        assert_eq!(spelled(text).first().map(String::as_str), Some(first), "{text}");
    }
    let braces = spelled("~/.config/{a,countersign}/{x,y}");
    for path in ["/home/u/.config/countersign/x", "/home/u/.config/a/y"] {
        assert!(braces.iter().any(|known| known == path), "{path}: {braces:?}");
    }
    assert!(spelled("~/{a..z}").contains(&"/home/u/¿".to_owned()));
    assert!(spelled("%2e%2e/x").contains(&"../x".to_owned()));
    let many = "{a,b}".repeat(8);
    assert_eq!(spelled(&many).first().map(String::as_str), Some("¿"));
}

#[test]
fn an_option_may_hold_a_path() {
    for (word, piece) in [
        ("--file=/a/b", "/a/b"),
        ("-f/a/b", "/a/b"),
        ("-xzf/a/b", "/a/b"),
        ("-C..", ".."),
        ("@/a/b", "/a/b"),
        ("host:/a/b", "/a/b"),
        ("of=a=b", "a=b"),
    ] {
        assert!(pieces(word).contains(&piece), "{word}: {:?}", pieces(word));
    }
}
