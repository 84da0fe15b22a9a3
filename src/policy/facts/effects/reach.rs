//! Hosts that a command speaks to, and what it gives out of hand.

use super::{Effect, List};
use crate::facts::access::operands;
use crate::shell::Word;

/// A program with its sub-command where the name alone says little.
pub(super) fn title(path: &str, args: &[Word<'_>]) -> String {
    let name = crate::facts::wrappers::base(path);
    let many = matches!(
        name,
        "git"
            | "cargo"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "pip"
            | "pip3"
            | "go"
            | "docker"
            | "podman"
            | "kubectl"
            | "helm"
            | "gh"
            | "glab"
            | "terraform"
            | "tofu"
            | "systemctl"
            | "apt"
            | "apt-get"
            | "brew"
            | "make"
            | "just"
            | "uv"
            | "poetry"
            | "aws"
            | "gcloud"
            | "az"
            | "rustup"
            | "dnf"
            | "yum"
            | "snap"
    );
    let sub = args.iter().find(|w| !w.text.starts_with('-')).filter(|_| many);
    match sub.and_then(Word::literal) {
        Some(sub) => format!("{path} {sub}"),
        None => path.to_owned(),
    }
}

/// Adds hosts and publications of one command.
pub(super) fn add(name: &str, args: &[Word<'_>], list: &mut List) {
    for word in args {
        if let Some(host) = host(&word.text) {
            list.add(Effect::Reaches { host });
        }
    }
    let words = operands(args, VALUES);
    let word = |at: usize| words.get(at).map(|w| w.text.to_string()).unwrap_or_default();
    let rest = |from: usize| {
        let rest: Vec<&str> = words.iter().skip(from).map(|w| &*w.text).collect();
        rest.join(" ")
    };
    let mut publishes =
        |what: &str, to: String| list.add(Effect::Publishes { what: what.to_owned(), to });
    match (name, word(0).as_str()) {
        ("git", "push") => publishes(
            "git push",
            if words.len() > 1 { rest(1) } else { "the default remote".to_owned() },
        ),
        ("git", "send-email") => publishes("git send-email", rest(1)),
        ("cargo" | "npm" | "pnpm" | "yarn" | "bun" | "uv" | "poetry", "publish") => {
            publishes(&format!("{name} publish"), "its registry".to_owned())
        }
        ("docker" | "podman", "push") => publishes(&format!("{name} push"), word(1)),
        ("twine", "upload") => publishes("twine upload", "its registry".to_owned()),
        ("gh" | "glab", "pr" | "mr" | "release" | "gist" | "issue")
            if matches!(
                word(1).as_str(),
                "create" | "merge" | "comment" | "edit" | "upload" | "close"
            ) =>
        {
            publishes(&format!("{name} {} {}", word(0), word(1)), "the forge".to_owned());
        }
        ("aws", "s3") if matches!(word(1).as_str(), "cp" | "mv" | "sync") => {
            publishes("aws s3", words.last().map(|w| w.text.to_string()).unwrap_or_default())
        }
        ("kubectl" | "terraform" | "tofu" | "pulumi", "apply" | "up" | "delete" | "destroy") => {
            publishes(&format!("{name} {}", word(0)), "the infrastructure".to_owned())
        }
        ("scp" | "rsync" | "sftp", _) => {
            for operand in &words {
                if let Some(host) = remote(&operand.text) {
                    list.add(Effect::Reaches { host });
                }
            }
        }
        (
            "ssh" | "mosh" | "nc" | "ncat" | "netcat" | "telnet" | "ping" | "ping6" | "dig"
            | "nslookup" | "host",
            host,
        ) if !host.is_empty() => {
            let host = host.rsplit('@').next().unwrap_or(host).to_owned();
            list.add(Effect::Reaches { host });
        }
        ("curl" | "wget" | "http" | "xh", _) => {
            for operand in
                words.iter().filter(|w| !w.text.contains("://") && w.text.contains(['.', ':']))
            {
                let host = operand.text.split(['/', '?']).next().unwrap_or_default();
                list.add(Effect::Reaches { host: host.to_owned() });
            }
        }
        ("git", "clone" | "fetch" | "pull" | "ls-remote") => {
            let at = word(1);
            let named = remote(&at).or_else(|| (!at.is_empty() && !at.contains('/')).then_some(at));
            list.add(Effect::Reaches {
                host: named.unwrap_or_else(|| "the default remote".to_owned()),
            });
        }
        (
            "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3" | "cargo" | "gem" | "brew" | "apt"
            | "apt-get" | "go",
            "install" | "add" | "ci" | "i" | "get" | "update" | "upgrade",
        ) => {
            list.add(Effect::Reaches { host: format!("the package registry of {name}") });
        }
        _ => {}
    }
}

/// Options of the programs above whose value is no operand.
const VALUES: &[&str] = &[
    "-X", "-H", "-d", "-o", "-A", "-u", "-b", "-p", "-i", "-l", "-e", "-m", "-C", "-c", "-n", "-F",
    "-T", "-w",
];

/// The host of an address with a scheme.
pub(super) fn host(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.rsplit(['=', '@']).next().unwrap_or(scheme);
    let plain = !scheme.is_empty()
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    (plain && !host.is_empty() && scheme != "file").then(|| host.to_owned())
}

/// `user@host:path`
fn remote(text: &str) -> Option<String> {
    let (host, _) = text.split_once(':')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    (!host.is_empty() && !host.contains('/')).then(|| host.to_owned())
}
