//! Files that hold keys, tokens and passwords: the one list of their names, for paths as well as
//! for patterns of paths.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::facts::paths::readings::{UNKNOWN, braces};
use crate::facts::paths::{Directories, clean, folded};
use crate::glob::bracket;

/// Names of files; `*` stands for any text, and case does not matter.
// `token` alone is common in source code (`tokenizer.rs`).
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    ".env* *.env id_rsa* id_ed25519* id_ecdsa* id_dsa* *.pem *.key *.ppk *.p12 *.pfx *.jks \
     *.keystore *.kdbx *.ovpn *.asc *.tfstate *.tfstate.* *.tfvars *.tfvars.json *credential* \
     *secret* *password* .*token* *_history *_rsa *_dsa *_ecdsa *_ed25519 *_key privatekey *.p8 \
     *.pkcs12 *.keytab krb5cc* .dev.vars* auth.json token.json tokens.json oauth_creds.json \
     logins.json *adminsdk*.json key4.db local.settings.json wp-config.php *vault_pass \
     *vault_pass.txt *vault-pass *vault-pass.txt service-account*.json service_account*.json \
     kubeconfig kubeconfig.y*ml *.kubeconfig .netrc _netrc .pgpass .npmrc .yarnrc.yml .pypirc \
     *.htpasswd *.passwd .passwd* .my.cnf .curlrc .wgetrc .authinfo* .msmtprc .fetchmailrc .muttrc \
     .ftpconfig .zhistory .histfile .viminfo .dockercfg .dockerconfigjson .boto .s3cfg \
     .terraformrc *rclone.conf shadow gshadow sudoers"
        .split(' ')
        .collect()
});

/// Folders in which every file counts.
const FOLDERS: &[&str] =
    &[".gnupg", ".aws", ".azure", ".ssh", "gcloud", ".password-store", ".subversion", "keychains"];

/// Files in a folder, at any depth below it. An address in git's settings may contain a token.
const FILES: &[(&str, &str)] = &[
    (".kube", "config"),
    (".docker", "config.json"),
    (".m2", "settings.xml"),
    ("gh", "hosts.yml"),
    (".git", "config"),
    (".git", "config.worktree"),
];

/// Endings of public keys and templates, which carry the same names but no secret.
const TEMPLATES: &[&str] = &[".pub", ".example", ".sample", ".template", ".dist"];

/// Endings that editors and people give to copies.
const COPIES: &[&str] =
    &["~", "#", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".tmp"];

/// Endings of source code, documents and logs: a pattern with one of them means no secret.
const CODE: &str = "rs py pyi js jsx mjs cjs ts tsx mts cts vue svelte go java kt kts scala c h cc \
    cpp cxx hpp hh cs rb php pl pm lua swift m mm r jl ex exs erl hs ml mli clj dart zig nim sh \
    bash zsh fish sql graphql proto html htm css scss sass less md mdx rst adoc log lock snap diff \
    patch svg";

/// Endings of data, by which a search through whole folders is often narrowed.
const DATA: &str = "json jsonl yaml yml toml xml txt csv ini cfg conf";

/// Returns true for files with keys, tokens, passwords or histories.
#[must_use]
pub fn secret(path: &str, dirs: Directories<'_>) -> bool {
    let path = clean(path, dirs);
    let path = if path.is_ascii() { path } else { folded(&path).into_owned().into() };
    let name = path.rsplit('/').next().unwrap_or(&path);
    let below = |folder: &str| path.split('/').any(|part| part.eq_ignore_ascii_case(folder));
    is_named(name)
        || FOLDERS.iter().any(|folder| below(folder))
            && !(below(".ssh") && matches!(name, "config" | "known_hosts"))
            && !is_template(name)
        || FILES.iter().any(|(folder, file)| name.eq_ignore_ascii_case(file) && below(folder))
}

/// Returns true for a folder in which every file counts, and for what is below it.
#[must_use]
pub fn is_folder_of_secrets(folder: &str) -> bool {
    let is = |part: &str| FOLDERS.iter().any(|name| part.eq_ignore_ascii_case(name));
    folder.split('/').any(is)
}

/// Returns true for a hidden folder of which a file counts because of where it is (`.kube`).
#[must_use]
pub fn is_folder_of_settings(folder: &str) -> bool {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    name.starts_with('.') && FILES.iter().any(|(folder, _)| name.eq_ignore_ascii_case(folder))
}

/// Returns true for a folder in which some file counts only because it is there: a path relative to
/// such a folder does not tell.
#[must_use]
pub fn keeps_secrets(folder: &str, dirs: Directories<'_>) -> bool {
    let folder = clean(folder, dirs);
    let is = |name: &str| folder.split('/').any(|part| part.eq_ignore_ascii_case(name));
    FOLDERS.iter().chain(FILES.iter().map(|(folder, _)| folder)).any(|name| is(name))
}

/// The use of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternOf {
    /// What matches is opened.
    Files,
    /// A search through whole folders, which the pattern narrows.
    Search,
}

/// Returns true when a pattern of paths may match a secret. The last part decides, and every folder
/// that is more than a star.
// FAIL-CLOSED: a pattern that cannot be read may match anything.
#[must_use]
pub fn may_be_secret(pattern: &str, of: PatternOf) -> bool {
    // `@(a|b)`, and a backslash that may belong to the pattern or to the name.
    let group = ["@(", "!(", "+(", "*(", "?("].iter().any(|group| pattern.contains(group));
    if !group && !is_pattern(pattern) {
        return secret(&pattern.replace('\\', ""), Directories::default());
    }
    let odd = group || pattern.contains('\\');
    odd || braces(pattern).iter().any(|one| alternatives(one).iter().any(|one| matches(one, of)))
}

/// Returns true for a text with wildcards.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn matches(pattern: &str, of: PatternOf) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    let meets = |part: &str, rule: &str| meets(part.as_bytes(), rule.as_bytes());
    // A bare star stands for any folder, as a search through it does.
    let stars = |part: &str| part.bytes().all(|b| b == b'*');
    let below = |folder: &str| pattern.split('/').any(|part| !stars(part) && meets(part, folder));
    if pattern.contains(UNKNOWN) || FOLDERS.iter().any(|folder| below(folder)) {
        return true;
    }
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let ends = |list: &str| list.split(' ').any(|one| one == ending);
    let code = name.contains(['*', '?']) && !name.starts_with('.') && ends(CODE);
    // `grep -r x` and `grep -r x --include='*'` are the same.
    let wide = stars(name) || name.starts_with("*.") && ends(DATA);
    let plain = code || wide && of == PatternOf::Search;
    !plain
        && (may_be_named(name)
            || FILES.iter().any(|(folder, file)| meets(name, file) && below(folder)))
}

fn is_template(name: &str) -> bool {
    TEMPLATES.iter().any(|end| ends_with(name, end))
}

/// Returns true when the name, or the name of which it is a copy, is a secret's.
fn is_named(name: &str) -> bool {
    let mut rules = NAMES.iter().map(|rule| rule.as_bytes());
    if !is_template(name) && rules.any(|rule| fits(name.as_bytes(), rule)) {
        return true;
    }
    let mut rest = name;
    while let Some(end) = COPIES.iter().find(|end| ends_with(rest, end)) {
        rest = rest.get(..rest.len() - end.len()).unwrap_or_default();
    }
    // `#name#`, `.#name` and `.name.swp`.
    let bare = rest.trim_start_matches(".#").trim_start_matches('#');
    let dotless = bare.strip_prefix('.').unwrap_or(bare);
    bare.len() < name.len() && !bare.is_empty() && (is_named(bare) || is_named(dotless))
}

/// Returns true when a pattern may match the name of a secret, or of a copy of one.
fn may_be_named(pattern: &str) -> bool {
    let fits = |rule: &str| meets(pattern.as_bytes(), rule.as_bytes());
    !is_template(pattern)
        && NAMES.iter().any(|rule| {
            fits(rule)
                || fits(&[rule, "~"].concat())
                || fits(&[rule, ".*"].concat())
                || fits(&["#", rule, "#"].concat())
        })
}

fn ends_with(name: &str, end: &str) -> bool {
    let from = name.len().checked_sub(end.len());
    from.and_then(|from| name.get(from..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// Returns true when a name fits a rule.
fn fits(name: &[u8], rule: &[u8]) -> bool {
    match rule.split_first() {
        None => name.is_empty(),
        Some((b'*', [])) => true,
        Some((b'*', rest)) => {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| fits(name, rest)))
        }
        Some((byte, rest)) => name
            .split_first()
            .is_some_and(|(first, name)| first.eq_ignore_ascii_case(byte) && fits(name, rest)),
    }
}

/// Returns true when some name fits both the pattern and the rule, in which `*` stands for any text.
pub(crate) fn may_be_name(pattern: &str, rule: &str) -> bool {
    alternatives(pattern).iter().any(|one| meets(one.as_bytes(), rule.as_bytes()))
}

/// Does the same for a pattern without classes.
fn meets(pattern: &[u8], rule: &[u8]) -> bool {
    let bits = |fits: &dyn Fn(u8) -> bool| -> u64 {
        rule.iter().enumerate().filter(|(_, b)| fits(**b)).map(|(j, _)| 1 << j).sum()
    };
    let stars = bits(&|b| b == b'*');
    // A star of the rule may be empty; no rule has two in a row.
    let over = |at: u64| at | (at & stars) << 1;
    // Bit `j`: the part of the pattern that was read fits the first `j` characters of the rule.
    let mut at = over(1);
    for &byte in pattern {
        at = over(match byte {
            // The star may stand for whatever the rule has from here on.
            b'*' => !0_u64 << at.trailing_zeros().min(63),
            b'?' => (at & stars) | (at & !stars) << 1,
            _ => (at & stars) | (at & bits(&|b| b.eq_ignore_ascii_case(&byte)) & !stars) << 1,
        });
        if at == 0 {
            return false;
        }
    }
    at >> rule.len() & 1 == 1
}

/// Writes the classes of a pattern out: `*.[ch]` becomes `*.c` and `*.h`; any other class is `?`.
fn alternatives(pattern: &str) -> Vec<Cow<'_, str>> {
    const MOST: usize = 32;
    let Some((before, rest)) = pattern.split_once('[') else { return vec![pattern.into()] };
    // FAIL-CLOSED: a class that not all read alike may be anything. Not a star alone, which stands
    // for a search through all files.
    let Some((class, after)) = bracket(rest) else { return vec!["?*".into()] };
    let listed = class.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    let all = alternatives(after);
    let parts: Vec<String> = if listed && class.len() * all.len() <= MOST {
        class.chars().map(String::from).collect()
    } else {
        vec!["?".to_owned()]
    };
    let joined = |part: &String| {
        all.iter().map(|one| Cow::Owned([before, part, one].concat())).collect::<Vec<_>>()
    };
    parts.iter().flat_map(joined).collect()
}

#[cfg(test)]
mod tests {
    use crate::facts::paths::secrets::*;

    #[test]
    fn names_of_secrets_are_known_with_their_copies_and_without_their_templates() {
        for path in [
            ".env",
            ".ENV",
            ".envrc",
            ".env.local",
            "prod.env",
            ".env~",
            ".env.bak",
            "#.env#",
            ".#.env",
            ".env.swp",
            "..env.swp",
            ".server.key.swp",
            "server.key.bak",
            "server.pem~",
            ".netrc~",
            ".NETRC",
            "auth.json",
            "auth.json.old",
            "terraform.tfstate",
            "a/terraform.tfstate.backup",
            "prod.tfvars",
            "prod.auto.tfvars.json",
            "kubeconfig",
            "kubeconfig.yaml",
            ".kube/config",
            ".docker/config.json",
            ".pypirc",
            ".cargo/credentials.toml",
            ".aws/config",
            "x/gcloud/y",
            "id_ecdsa_sk",
            "a.p12",
            "a.jks",
            "a.kdbx",
            "service-account-1.json",
            ".git/config",
            ".git/modules/x/config",
            "SECRETS.yml",
            "src/../.env",
            "deploy_rsa",
            "keys/AuthKey_1.p8",
            ".dev.vars",
            ".vault_pass",
            "token.json",
            ".password-store/x.gpg",
            "server.\u{212a}ey",
            ".\u{17f}sh/x",
            ".ssh/id_x",
            ".ssh",
            "x/.AWS",
            "~/.gnupg/",
        ] {
            assert!(secret(path, Directories::default()), "{path}");
        }
        for path in [
            "id_rsa.pub",
            ".env.example",
            ".env.sample",
            ".ssh/config",
            ".ssh/known_hosts",
            "src/auth.rs",
            "package.json",
            "tokenizer.rs",
            "crypto_rsa.rs",
            "private_key.rs",
            "größe.md",
            ".git/HEAD",
            "config",
            "config.json",
            "src/config",
            "a~",
            ".gitignore",
            "environment.ts",
            "main.tf",
            "README.md.bak",
            "#x#",
            "",
            "keys",
            ".eslintrc",
        ] {
            assert!(!secret(path, Directories::default()), "{path}");
        }
    }

    #[test]
    fn a_pattern_that_may_match_a_secret_is_one() {
        for pattern in [
            "*",
            "a*",
            "*.e*",
            "*.en?",
            "app.ke[y]",
            "app.k[a-z]y",
            "*rsa",
            "[i]d_rsa",
            "id_?sa",
            "prod*",
            "*.json",
            "x/*.ke?",
            "*.{rs,env}",
            "*~",
            "*.bak",
            "*.tf*",
            "auth.*",
            "@(a|b)",
            "a\\*",
            "*[",
            "[!a].key",
            ".aw?/x",
            "app[^]]env",
            "app[!]]env",
            "app[[:punct:]]env",
            "app[[=.=]]env",
            ".e*.sh",
            "?env",
            "*nv",
            "*/.e?v",
            "[.]env",
            "*.y*ml",
            "app.key.ba?",
            "?auth.json#",
            ".en\\v",
        ] {
            assert!(may_be_secret(pattern, PatternOf::Files), "{pattern}");
        }
        for pattern in [
            "src/*.rs",
            "*.md",
            "**/*.ts",
            "*.[ch]",
            "src/**/mod.rs",
            "*/Cargo.toml",
            "crates/*/src/lib.rs",
            "*.{ts,tsx}",
            "app/[id]/page.tsx",
            "app/[slug].tsx",
            "*.log",
            "[0-9]*.sql",
            "src/*/index",
            "*.env.example",
            "*.pub",
        ] {
            assert!(!may_be_secret(pattern, PatternOf::Files), "{pattern}");
        }
    }

    #[test]
    fn a_search_is_narrowed_by_a_pattern() {
        for pattern in ["*", "**/*", "src/**", "*.json", "**/*.{yml,yaml}", "*.rs"] {
            assert!(!may_be_secret(pattern, PatternOf::Search), "{pattern}");
        }
        for pattern in [
            ".en[v]",
            "app[^]]env",
            "*.[[:alpha:]]nv",
            "*.{env,x}",
            ".e*",
            "*.e*",
            "{.env,x}",
            "*.ke?",
            "*secret*",
            "auth.j*",
            "{auth,x}.json",
        ] {
            assert!(may_be_secret(pattern, PatternOf::Search), "{pattern}");
        }
    }
}
