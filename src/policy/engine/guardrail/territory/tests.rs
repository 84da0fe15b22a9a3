use crate::engine::guardrail::territory::*;

fn route(text: &str) -> String {
    Route::new("/home/u/work", text, true, "/home/u/work").text()
}

#[test]
fn a_path_is_followed_from_its_base_through_what_the_kernel_makes_up() {
    for (text, path) in [
        ("a/./b//c/..", "/home/u/work/a/b"),
        ("../../../../x", "/x"),
        ("/proc/self/cwd/../.config", "/home/u/.config"),
        ("/proc/self/root/etc", "/etc"),
        ("/proc/1/root/../etc", "/etc"),
        ("/proc/s*/c?d/x", "/home/u/work/x"),
        ("/proc/self/task/7/cwd/x", "/home/u/work/x"),
        ("/proc/7/environ", "/proc/7/environ"),
    ] {
        assert_eq!(route(text), path, "{text}");
    }
    assert!(Route::new("/", "/proc/7/cwd/x", false, "/").unknown);
    assert!(Route::new("/", "/proc/self/fd/3/x", false, "/").unknown);
    assert!(!Route::new("/", "/proc/self/fd/3", false, "/").unknown);
}

#[test]
fn wildcards_fit_more_than_a_shell_takes_them_for() {
    for (pattern, name, fit) in [
        ("countersign", "countersign", Fit::Exact),
        ("CounterSign", "countersign", Fit::Exact),
        ("c*n", "countersign", Fit::Exact),
        ("[a-d]?unter[s]ig*", "countersign", Fit::Exact),
        ("c[]x]unt*", "countersign", Fit::Exact),
        ("c[[:alpha:]]unt*", "countersign", Fit::Exact),
        ("*", ".config", Fit::Loose),
        ("[.]config", ".config", Fit::Loose),
        (".c*", ".config", Fit::Exact),
        ("c*x", "countersign", Fit::No),
        ("[", "countersign", Fit::No),
        ("countersig", "countersign", Fit::No),
    ] {
        assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
    }
}

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

fn lie(text: &str) -> String {
    let file = "/home/u/.config/countersign/countersign.toml";
    let own = [file, "/home/u/.config/countersign", "/run/user/7/countersign.sock", "/proc/42"];
    let territory = Territory::new(own.map(str::to_owned));
    let route = Route::new("/home/u/work", text, text.contains(['*', '?', '[']), "/home/u/work");
    assert!(territory.above().all(|folder| !folder.contains("countersign")));
    match territory.lie(&route, Some("/home/u")) {
        Lie::Above(Above { below_home, walks, .. }) => format!("above {below_home} {walks}"),
        Lie::Ours(_) => "ours".to_owned(),
        Lie::MayBeOurs(_) => "may be ours".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[test]
fn paths_are_ours_above_ours_or_elsewhere() {
    for (text, expected) in [
        ("../.config/countersign/approver.token", "ours"),
        ("/home/u/.config/countersign", "ours"),
        ("/home/u/.CONFIG/Countersign/x", "ours"),
        ("/home/u/.c*/c*/*", "ours"),
        ("/home/u/*/countersign/*", "may be ours"),
        ("/home/u/.config/**/x", "ours"),
        ("/home/u/.config/x/**", "elsewhere"),
        ("/home/u/.config/**", "ours"),
        ("/home/u/**/x", "above false true"),
        ("/home/u/.config", "above true false"),
        ("..", "above false false"),
        ("/", "above false false"),
        ("/proc/self/root/home/u/.config/countersign/x", "ours"),
        ("/proc/42/environ", "ours"),
        ("/proc/[0-9]*/environ", "ours"),
        ("/proc/7/environ", "elsewhere"),
        ("/proc/7/cwd/x", "unknown"),
        ("/run/user/7/countersign.sock", "ours"),
        (".", "elsewhere"),
        ("src/**/*.rs", "elsewhere"),
        ("/home/u/.config/countersign.bak", "elsewhere"),
    ] {
        assert_eq!(lie(text), expected, "{text}");
    }
}
