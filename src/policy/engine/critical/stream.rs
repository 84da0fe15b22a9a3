//! What flows from one command into the next: fetched text into a shell, secrets to another host.

use std::borrow::Cow;

use super::NOWHERE;
use crate::facts::access::{self, operands};
use crate::facts::paths;
use crate::facts::wrappers::{Inner, Unwrapped, base, unwrap};
use crate::shell::{Command, PipePosition, Word, WordKind};

const FETCHED: &str = "runs what it fetches or decodes";
const LEAKS: &str = "sends secrets or private files to another host";
const REMOTE: &str = "gives another host a shell here";

/// The commands of a text in their order.
#[derive(Default)]
pub(super) struct Stream<'s, 'a> {
    /// Those of the present pipeline that nobody has asked about.
    unasked: Vec<&'s [Word<'a>]>,
    upstream: Upstream,
    /// Files that were downloaded earlier in the text.
    files: Vec<String>,
}

/// What a command may be handed by those before it in its pipeline.
#[derive(Default)]
struct Upstream {
    fetched: bool,
    secret: bool,
    shell: bool,
    destroys: bool,
    endless: bool,
}

impl<'s, 'a> Stream<'s, 'a> {
    /// Takes the next command; a reason when it completes a pattern.
    pub(super) fn see(
        &mut self,
        command: &'s Command<'a>,
        behind: Option<&Unwrapped<'s, 'a>>,
    ) -> Option<&'static str> {
        if matches!(command.pipe, PipePosition::Alone | PipePosition::First) {
            self.unasked.clear();
            self.upstream = Upstream::default();
        }
        let words = innermost(&command.argv, behind);
        let (first, args) = words.split_first()?;
        let name = base(first.literal()?);
        let reason = if command.pipe.reads() { self.takes(name, args, command) } else { None };
        if reason.is_some() {
            return reason;
        }
        if self.runs_file(first, name, args) {
            return Some(FETCHED);
        }
        if fetches(name) {
            self.keep_files(command, words);
        }
        if command.pipe != PipePosition::Alone {
            self.unasked.push(words);
        }
        None
    }

    /// A command at the end of a pipe.
    fn takes(
        &mut self,
        name: &str,
        args: &[Word<'_>],
        command: &Command<'_>,
    ) -> Option<&'static str> {
        if matches!(name, "psql" | "mysql" | "mariadb" | "sqlite3" | "cqlsh" | "duckdb")
            && self.upstream().destroys
        {
            return Some("drops or empties a database");
        }
        if reads_program(name, args) && (is_shell(name) || self.upstream().fetched) {
            return Some(FETCHED);
        }
        if base(&command.argv.first()?.text) == "xargs" && self.upstream().endless {
            return Some("starts copies of itself without end");
        }
        if hands_on(&command.argv) && self.upstream().fetched {
            return Some(FETCHED);
        }
        if sends(name, args) {
            return match self.upstream() {
                Upstream { secret: true, .. } => Some(LEAKS),
                Upstream { shell: true, .. } => Some(REMOTE),
                _ => None,
            };
        }
        None
    }

    /// What comes down the pipe. Few commands care, so it is worked out only for those.
    fn upstream(&mut self) -> &Upstream {
        for words in self.unasked.drain(..) {
            self.upstream.add(words);
        }
        &self.upstream
    }

    fn runs_file(&self, first: &Word<'_>, name: &str, args: &[Word<'_>]) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let is = |text: &str| {
            let path = paths::clean(text, NOWHERE);
            self.files.iter().any(|file| *file == path)
        };
        let script = operands(args, &["-m"]).first().is_some_and(|w| is(&w.text));
        (is_interpreter(name) || matches!(name, "source" | ".")) && script
            || first.text.contains('/') && is(&first.text)
    }

    /// Remembers what a download writes.
    fn keep_files(&mut self, command: &Command<'_>, words: &[Word<'_>]) {
        let Some((first, args)) = words.split_first() else { return };
        let given = access::of_command(words).into_iter().map(|(_, w)| w.text.to_string());
        let redirected =
            command.redirects.iter().filter(|r| r.op.writes()).map(|r| r.target.text.to_string());
        let by_name = operands(args, &["-o", "-O", "-H", "-d", "-A", "-u", "-X"])
            .into_iter()
            .filter_map(|w| {
                let last = w.text.rsplit('/').next()?.split(['?', '#']).next()?.to_owned();
                (w.text.contains('/') && !last.is_empty()).then_some(last)
            });
        let keeps = base(&first.text) != "curl" || access::has_flag(args, 'O');
        let named: Vec<String> = if keeps { by_name.collect() } else { Vec::new() };
        let files = given.chain(redirected).chain(named);
        self.files.extend(files.map(|file| paths::clean(&file, NOWHERE).into_owned()));
    }
}

impl Upstream {
    fn add(&mut self, words: &[Word<'_>]) {
        let Some((first, args)) = words.split_first() else { return };
        let name = base(&first.text);
        self.fetched |= fetches(name) || decodes(name, args);
        self.shell |= is_shell(name);
        self.endless |= name == "yes";
        self.secret |= reads_secret(name, args);
        let speaks = matches!(name, "echo" | "printf");
        self.destroys |= speaks && args.iter().any(|w| super::data::destroys(&w.text));
    }
}

/// Patterns within one command.
pub(super) fn alone(name: &str, args: &[Word<'_>]) -> Option<&'static str> {
    let mut dynamic = args.iter().filter(|w| w.kind == WordKind::Dynamic);
    if dynamic.any(|w| holds_fetch(&w.text))
        && (is_interpreter(name)
            || matches!(name, "eval" | "source" | "." | "exec" | "env" | "xargs"))
    {
        return Some(FETCHED);
    }
    match name.as_bytes() {
        b"nc" | b"ncat" | b"netcat" => {
            let runs = args.iter().any(|w| {
                let text = &*w.text;
                text.starts_with('-') && !text.starts_with("--") && text.contains(['e', 'c'])
                    || text.starts_with("--exec")
                    || text.starts_with("--sh-exec")
            });
            runs.then_some(REMOTE)
        }
        b"socat" => args
            .iter()
            .any(|w| {
                let text = w.text.to_ascii_lowercase();
                text.starts_with("exec:")
                    || text.starts_with("system:")
                    || text.starts_with("shell:")
            })
            .then_some(REMOTE),
        b"curl" | b"wget" | b"http" | b"https" | b"xh" => {
            sent_files(args).any(|file| guarded(&file)).then_some(LEAKS).or_else(|| {
                args.iter()
                    .any(|w| w.kind == WordKind::Dynamic && substitutes_secret(&w.text))
                    .then_some(LEAKS)
            })
        }
        b"scp" | b"rsync" | b"sftp" => {
            let words = operands(args, &["-i", "-P", "-e", "-F", "-l"]);
            let (to, from) = words.split_last()?;
            let remote = to.text.contains(':') && !to.text.starts_with(['/', '.']);
            let secret = from.iter().any(|w| secret_word(w));
            (remote && secret).then_some(LEAKS)
        }
        b"aws" | b"gsutil" | b"rclone" | b"s3cmd" | b"az" | b"gcloud" => {
            let copies = args
                .iter()
                .any(|w| matches!(&*w.text, "cp" | "mv" | "sync" | "put" | "copy" | "upload"));
            (copies && args.iter().any(secret_word)).then_some(LEAKS)
        }
        b"nslookup" | b"dig" | b"host" | b"ping" | b"ping6" | b"drill" | b"traceroute" => args
            .iter()
            .any(|w| {
                w.kind == WordKind::Dynamic
                    && w.text.contains(['(', '`'])
                    && w.text.rsplit([')', '`']).next().is_some_and(|t| t.starts_with('.'))
            })
            .then_some("sends a value to another host in a name look-up"),
        b"python" | b"python3" | b"perl" | b"ruby" | b"node" | b"php" | b"lua" => code(args),
        _ => None,
    }
}

/// Programs given on the command line of an interpreter: only the plainest patterns are looked for.
fn code(args: &[Word<'_>]) -> Option<&'static str> {
    let given = args.windows(2).filter_map(|pair| match pair {
        [option, code] if matches!(&*option.text, "-c" | "-e" | "-E" | "-r" | "--eval" | "-p") => {
            Some(&*code.text)
        }
        _ => None,
    });
    for code in given {
        let forks = code.contains("fork")
            && ["while", "loop", "for(;;)", "for (;;)", "until"].iter().any(|w| code.contains(w));
        if forks {
            return Some("starts copies of itself without end");
        }
        let connects =
            code.contains("socket") || code.contains("Socket") || code.contains("fsockopen");
        let shell = ["/bin/sh", "/bin/bash", "pty.spawn", "subprocess", "exec("]
            .iter()
            .any(|w| code.contains(w));
        if connects && shell {
            return Some(REMOTE);
        }
        let fetches =
            code.contains("urlopen") || code.contains("requests.get") || code.contains("urllib");
        if fetches && (code.contains("exec(") || code.contains("eval(")) {
            return Some(FETCHED);
        }
        let removes = [
            "rmtree('/'",
            "rmtree(\"/\"",
            "rmtree('/home",
            "rmtree(os.path.expanduser",
            "rm -rf /",
            "rm -rf ~",
        ];
        if removes.iter().any(|w| code.contains(w)) {
            return Some("deletes a root, a home, a system directory or everything here");
        }
    }
    None
}

/// The command behind wrappers.
fn innermost<'w, 'a>(argv: &'w [Word<'a>], behind: Option<&Unwrapped<'w, 'a>>) -> &'w [Word<'a>] {
    let mut argv = argv;
    let first = |found: &Unwrapped<'w, 'a>| match found.inner.first() {
        Some(Inner::Argv { argv, .. }) => Some(*argv),
        _ => None,
    };
    let mut inner = behind.and_then(first);
    for _ in 0..4 {
        let Some(next) = inner else { break };
        argv = next;
        inner = unwrap(argv).as_ref().and_then(first);
    }
    argv
}

/// `base64 -d`, `gunzip`
fn decodes(name: &str, args: &[Word<'_>]) -> bool {
    match name.as_bytes() {
        b"gunzip" | b"zcat" | b"uudecode" => true,
        b"base64" | b"base32" | b"openssl" | b"xxd" | b"gpg" => args
            .iter()
            .any(|w| matches!(&*w.text, "-d" | "-D" | "-di" | "--decode" | "-r" | "enc" | "-rp")),
        _ => false,
    }
}

fn fetches(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"curl"
            | b"wget"
            | b"fetch"
            | b"aria2c"
            | b"http"
            | b"https"
            | b"xh"
            | b"lwp-download"
            | b"lynx"
            | b"axel"
            | b"ftp"
    )
}

fn is_shell(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"sh" | b"bash" | b"zsh" | b"dash" | b"ksh" | b"ash" | b"fish" | b"csh" | b"tcsh" | b"pwsh"
    )
}

fn is_interpreter(name: &str) -> bool {
    is_shell(name)
        || name.starts_with("python")
        || matches!(
            name.as_bytes(),
            b"node"
                | b"perl"
                | b"ruby"
                | b"php"
                | b"lua"
                | b"deno"
                | b"bun"
                | b"tclsh"
                | b"osascript"
                | b"Rscript"
        )
}

/// An interpreter that takes its program from standard input.
fn reads_program(name: &str, args: &[Word<'_>]) -> bool {
    if name == "source" || name == "." {
        return args
            .first()
            .is_some_and(|w| w.text.starts_with("/dev/stdin") || w.text.starts_with("/dev/fd"));
    }
    if !is_interpreter(name) {
        return false;
    }
    let given = args.iter().any(|w| {
        matches!(
            &*w.text,
            "-c" | "-e"
                | "-m"
                | "-E"
                | "-p"
                | "-n"
                | "-ne"
                | "-pe"
                | "-lne"
                | "-r"
                | "--eval"
                | "-i"
                | "--version"
                | "-V"
                | "-lc"
                | "-ec"
                | "-ic"
        )
    });
    let mut words = args.iter().filter(|w| !w.text.starts_with('-') || w.text == "-");
    let reads = words.next().is_none_or(|w| matches!(&*w.text, "-" | "/dev/stdin"));
    let forced = args.iter().any(|w| w.text == "-s" && is_shell(name));
    (reads && !given) || forced
}

/// `| xargs sh -c`, `| sudo bash`
fn hands_on(argv: &[Word<'_>]) -> bool {
    let hands_on = |w: &Word<'_>| matches!(base(&w.text), "xargs" | "parallel" | "sudo" | "env");
    argv.first().is_some_and(hands_on) && argv.iter().any(|w| is_shell(base(&w.text)))
}

fn sends(name: &str, args: &[Word<'_>]) -> bool {
    match name.as_bytes() {
        b"nc" | b"ncat" | b"netcat" | b"socat" | b"telnet" | b"ssh" | b"mail" | b"sendmail"
        | b"mutt" => !args.iter().any(|w| w.text == "-z"),
        b"curl" | b"http" | b"xh" => args.iter().any(|w| {
            let text = &*w.text;
            text.contains("@-")
                || text == "-T"
                || text.starts_with("-T")
                || text.starts_with("--upload")
                || text == "-"
                || text.starts_with("--data")
                || text == "-d"
                || text == "-F"
        }),
        b"wget" => {
            args.iter().any(|w| w.text.starts_with("--post") || w.text.starts_with("--body"))
        }
        _ => false,
    }
}

fn reads_secret(name: &str, args: &[Word<'_>]) -> bool {
    match name.as_bytes() {
        b"env" | b"printenv" | b"set" | b"export" => args.is_empty(),
        b"history" => true,
        b"gpg" | b"gpg2" => args.iter().any(|w| w.text.starts_with("--export-secret")),
        b"aws" => args.iter().any(|w| {
            w.text.contains("session-token")
                || w.text.contains("get-secret")
                || w.text == "export-credentials"
                || w.text == "assume-role"
        }),
        b"gh" => args.iter().any(|w| w.text == "token"),
        b"security" | b"pass" | b"op" | b"vault" | b"bw" => true,
        b"kubectl" => args.iter().any(|w| w.text.starts_with("secret")),
        _ => args.iter().any(secret_word),
    }
}

fn secret_word(word: &Word<'_>) -> bool {
    // Options, and words too plain to name a secret.
    let text = &*word.text;
    let path_like = text.bytes().any(|b| matches!(b, b'.' | b'/' | b'~' | b'$' | b'_'));
    if text.starts_with('-') || !path_like && text.len() < 6 {
        return false;
    }
    let path = match paths::of_word(word, NOWHERE) {
        Some(path) => path,
        None => Cow::Borrowed(text),
    };
    guarded(&path)
}

/// A secret, or a directory that holds them.
fn guarded(path: &str) -> bool {
    let clean = paths::clean(path, NOWHERE);
    let below = paths::in_home(&clean, NOWHERE).unwrap_or_default();
    paths::secret(path, NOWHERE)
        || matches!(below, ".ssh" | ".aws" | ".gnupg" | ".kube" | ".config" | ".docker")
        || paths::within(&clean, "/etc") && !clean.ends_with("/hosts")
}

/// Files that curl or wget send.
fn sent_files<'w>(args: &'w [Word<'_>]) -> impl Iterator<Item = String> + 'w {
    let glued = args.iter().filter_map(|w| {
        let text = &*w.text;
        let at = text.split_once('@').map(|(_, file)| file);
        let post = text
            .strip_prefix("--post-file=")
            .or_else(|| text.strip_prefix("--body-file="))
            .or_else(|| text.strip_prefix("--upload-file="));
        post.or(at).map(expand)
    });
    let behind = args.windows(2).filter_map(|pair| match pair {
        [option, file]
            if matches!(&*option.text, "-T" | "--upload-file" | "--post-file" | "--body-file") =>
        {
            Some(expand(&file.text))
        }
        _ => None,
    });
    glued.chain(behind)
}

fn expand(path: &str) -> String {
    path.replacen("$HOME", "~", 1).replacen("${HOME}", "~", 1)
}

fn holds_fetch(text: &str) -> bool {
    ["curl ", "wget ", "fetch ", "base64 -d", "base64 --decode"]
        .iter()
        .any(|name| text.contains(name))
        && text.contains(['(', '`'])
}

/// `$(cat ~/.token)`, `` `env` ``
fn substitutes_secret(text: &str) -> bool {
    let Some(at) = text.find("$(").or_else(|| text.find('`')) else { return false };
    let inner = text.get(at..).unwrap_or_default();
    inner
        .split(|c: char| c.is_whitespace() || "()`;|&<>\"'".contains(c))
        .any(|word| guarded(&expand(word)) || matches!(word, "env" | "printenv"))
}
