//! Programs that contact other hosts.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{self, Any, Has, Holds, Not, Starts, Test};
use crate::facts::programs::condition::{Case, case, judge, options};
use crate::facts::programs::description::{
    Access, AlwaysRule, Files, Operands, Pipe, Program, Reach, Role, Runs, reading,
};
use crate::facts::programs::known::{RUNS, WRITES};
use crate::facts::programs::sensitive::{expand, guarded, secret_word};
use crate::facts::programs::{LEAKS, REMOTE, Words, begins};
use crate::facts::{obeyed, paths};
use crate::shell::{Word, WordKind};

pub(super) static ALL: &[Program] = &[
    // `-d @-` and `-T -` send what comes down the pipe.
    Program::named("curl")
        .whole("cookie output url")
        .roles(&[Role::Fetches])
        .beyond(&[judge(curl)])
        .critical(CLIENT_CRITICAL)
        .files(Files::Behind("-o --output -D -c"))
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(SENDS_ITS_INPUT)),
    Program::named("wget")
        .roles(&[Role::Fetches])
        .beyond(&[judge(wget)])
        .critical(CLIENT_CRITICAL)
        .files(Files::Behind("-O --output-document -P -o"))
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(Any(&[Starts("--post --body"), SENDS]))),
    Program::named("http xh")
        .roles(&[Role::Fetches])
        .critical(CLIENT_CRITICAL)
        .reaches(&[Reach::Addresses])
        .pipe(Pipe::sends(SENDS_ITS_INPUT)),
    Program::named("https").roles(&[Role::Fetches]).critical(CLIENT_CRITICAL),
    Program::named("fetch aria2c lwp-download lynx axel ftp")
        .roles(&[Role::Fetches, Role::Reaching]),
    SFTP.renamed("scp").files(Files::Transfer(Access::Read)),
    SFTP,
    Program::named("ssh")
        .runs(Runs::Remote)
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z"))))
        .grant(AlwaysRule::NEVER),
    Program::named("mosh").runs(Runs::Remote).reaches(&[Reach::Host]).grant(AlwaysRule::NEVER),
    Program::named("autossh").runs(Runs::Remote),
    // They run what they are given on many hosts, or in another system.
    Program::named("pssh parallel-ssh pdsh clush dsh fab salt salt-ssh psexec")
        .runs(Runs::Package)
        .grant(AlwaysRule::NEVER),
    // `-z` only tests ports and sends nothing.
    Program::named("nc ncat netcat")
        .beyond(&[judge(probe)])
        .critical(&[case(Test(serves_a_program), REMOTE)])
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("socat")
        .roles(&[Role::Reaching])
        .beyond(&[judge(probe)])
        .critical(&[case(Test(connects_a_program), REMOTE)])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("telnet")
        .beyond(&[judge(probe)])
        .reaches(&[Reach::Host])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    // A look-up of `$(…).example.com` carries data even where connections are blocked.
    Program::named("ping ping6 dig drill nslookup host traceroute tracepath")
        .beyond(&[judge(probe)])
        .critical(&[case(Test(looks_up), "sends a value to another host in a name look-up")])
        .reaches(&[Reach::Host]),
    Program::named("whois").roles(&[Role::Reaching]).beyond(&[judge(probe)]),
    Program::named("mail sendmail mutt")
        .roles(&[Role::Reaching])
        .pipe(Pipe::sends(Not(&Has("-z")))),
    Program::named("tcpdump")
        .beyond(&[case(options("--postrotate-command", "zwWZ", "icsrEGCFTmBQy"), RUNS)]),
    Program::named("nmap").beyond(&[case(options(NMAP_OPTIONS, "o", "pg"), RUNS)]),
    Program::named("hostname")
        .reads(&[reading("sI", "", &["short"], Operands::None)])
        .beyond(&[case(options("--file --boot", "Fb", ""), WRITES)]),
];

const SFTP: Program = Program::named("sftp")
    .beyond(&[case(options("", "SoJFDb", "cilPX"), RUNS), judge(copy)])
    .critical(&[case(Test(copies), LEAKS).values("-i -P -e -F -l")])
    .reaches(&[Reach::Copies]);
const CLIENT_CRITICAL: &[Case] =
    &[case(Test(uploads), LEAKS), case(Test(deletes_at_a_host), DELETES_AT_A_HOST)];

const SENDS_ITS_INPUT: When =
    Any(&[Holds(&["@-"]), Starts("-T --upload --data"), SENDS, Has("- -d -F")]);
const SENDS: When =
    options("--upload-file --data --post-file --post-data --body-file --body-data", "", "");
const NMAP_OPTIONS: Words = "\
    --script --script-args-file --datadir --interactive --resume --stylesheet --iL";

// curl and wget: what they write, send and read besides a page.

const SENDS_UNKNOWN: &str = "it sends a value that is only known when it runs";

/// Checks curl: a fetch to standard output is plain; files, uploads and configurations are not.
fn curl(args: &Arguments<'_, '_>) -> Option<&'static str> {
    const VALUES: &str = "HXuAbmwCreyYztUPxEKoOTFdDcQs";
    // Data for a server on this machine is not an upload.
    let local = args.texts().filter(|t| !t.starts_with('-')).any(is_local);
    let output = "-o --output -D --dump-header --stderr -c --cookie-jar";
    if args.values(output).iter().any(|file| !matches!(*file, "-" | "/dev/null")) {
        return Some("it writes what it fetched to a file");
    }
    let clustered =
        args.short("o", "HXuAbmwCreyYztUPxEKTFdDcQ") && args.values("-o --output").is_empty();
    if clustered && !args.has("/dev/null") {
        return Some("it writes what it fetched to a file");
    }
    if args.short("OJ", VALUES)
        || args.long(
            "\
            --remote-name --remote-name-all --remote-header-name --output-dir --trace \
            --trace-ascii --libcurl --etag-save --hsts --alt-svc",
        )
    {
        return Some("it writes files");
    }
    if args.short("KEQtxU", "HXuAbmwCreyYzTFdDcoP")
        || args.long(
            "\
            --config --engine --cert --key --quote --proxy --preproxy --socks5 \
            --telnet-option --unix-socket --abstract-unix-socket --netrc-file --doh-url",
        )
    {
        return Some("an option of it reads a configuration, a key or another address");
    }
    if args.short("FT", "HXuAbmwCreyYzdDcoP") || args.long("--form --form-string --upload-file") {
        return Some("it sends a file");
    }
    let data = args.values(
        "\
            -d --data --data-raw --data-binary --data-urlencode --data-ascii --json \
            --url-query",
    );
    if data.iter().any(|d| {
        d.starts_with('@') || d.contains("=@") || d.contains('@') && !d.contains([' ', '"', '{'])
    }) {
        return Some("it sends a file");
    }
    if !data.is_empty() && !local {
        return Some("it sends data to another host");
    }
    let method = args.values("-X --request");
    if method.iter().any(|m| !m.eq_ignore_ascii_case("GET") && !m.eq_ignore_ascii_case("HEAD"))
        && !local
    {
        return Some("it changes something on another host");
    }
    if args
        .values("-H --header -w --write-out -b --cookie")
        .iter()
        .any(|v| v.starts_with('@') || v.contains("%output"))
    {
        return Some("it reads or writes a file through an option");
    }
    url(args)
}

/// Checks what curl and wget share: addresses that are not plain web addresses, or not known.
fn url(args: &Arguments<'_, '_>) -> Option<&'static str> {
    for word in args.words {
        let text = &*word.text;
        if let Some((scheme, _)) = text.split_once("://")
            && !scheme.starts_with('-')
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
            && !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
        {
            return Some("it reads or sends something other than a web page");
        }
        // A substitution's output would leave the machine as part of the address.
        let secret = text.contains("$(") || text.contains('`') || text.contains("<(");
        if text.to_ascii_lowercase().starts_with("file:") || secret {
            return Some(SENDS_UNKNOWN);
        }
    }
    args.uncertain().then_some(SENDS_UNKNOWN)
}

/// Checks wget for files with a given name, uploads and configurations.
fn wget(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let output = args.values("-O --output-document -o --output-file -a");
    if !output.iter().all(|file| *file == "-" || paths::sink(file)) {
        return Some("it writes what it fetched to a named file");
    }
    let named_so = |word: &&Word<'_>| {
        let file = word.text.split(['?', '#']).next().unwrap_or_default();
        obeyed::is_obeyed(file.rsplit('/').next().unwrap_or_default())
    };
    if args.operands("-O --output-document").iter().any(named_so) && output.is_empty() {
        return Some("it writes a file that others run or obey");
    }
    if args.short("eiPIrm", "tTUwQYBDlAROoa")
        || args.long(
            "\
            --execute --input-file --config --directory-prefix --use-askpass --post-file \
            --post-data --body-file --body-data --method --load-cookies --save-cookies \
            --hsts-file --warc-file --ca-certificate --private-key --append-output \
            --recursive --mirror --rejected-log --output-file",
        )
    {
        return Some("an option of it runs, sends or writes something else");
    }
    url(args)
}

const DELETES_AT_A_HOST: &str = "deletes something at another host";

/// Returns true for `curl -X DELETE`, `wget --method=DELETE` and `http DELETE`, unless the address is
/// one of this machine.
fn deletes_at_a_host(args: &Arguments<'_, '_>) -> bool {
    let is = |text: &str| text.eq_ignore_ascii_case("delete");
    let here = args.any(is_local) && args.texts().all(|it| !it.contains("://") || is_local(it));
    let method = args.values("-X --request --method");
    !here && (method.into_iter().any(is) || args.each_named().any(|word| is(&word.text)))
}

fn is_local(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name =
        if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    matches!(name, "localhost" | "127.0.0.1" | "0.0.0.0") || host.starts_with("[::1]")
}

// Copies to and from other hosts, and raw connections.

/// Checks rsync, scp and sftp: another host, or a destination outside the project.
pub(super) fn copy(args: &Arguments<'_, '_>) -> Option<&'static str> {
    if args.uncertain() {
        return Some(SENDS_UNKNOWN);
    }
    let operands = args.operands("-e --rsh -f --exclude --include -P -i -l -c -F");
    let remote = |text: &str| {
        text.contains("://")
            // `host:path`; a slash before the colon makes it a local path.
            || text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.is_empty())
    };
    let (to, from) = operands.split_last()?;
    if remote(&to.text) && from.iter().any(|w| args.outside(w) || paths::secret(&w.text, args.dirs))
    {
        return Some("it sends files from outside the project to another host");
    }
    if !remote(&to.text) && args.outside(to) {
        return Some("it writes outside the project");
    }
    None
}

/// Checks name look-ups and raw connections, which carry whatever data they are given.
fn probe(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let runs = args.short("ec", "wpsiIXWqoLtmQ")
        || args.long("--exec --sh-exec --lua-exec --output")
        || args.any(|text| begins("exec: system: shell: create:", &text.to_ascii_lowercase()));
    // `ping -c3` counts packets; `nc -c CMD` runs a program.
    let counts =
        args.any(|text| text.starts_with("-c") && text.bytes().skip(2).all(|b| b.is_ascii_digit()));
    if runs && !counts {
        return Some("it runs a program for the other side");
    }
    let unknown = args.open || args.words.iter().any(|w| w.kind == WordKind::Dynamic);
    unknown.then_some(SENDS_UNKNOWN)
}

// Secrets sent to another host, and shells opened for one.

/// Returns true when curl or wget sends a secret file or a secret value.
fn uploads(args: &Arguments<'_, '_>) -> bool {
    sent_files(args).any(|file| guarded(&file))
        || args.words.iter().any(|w| w.kind == WordKind::Dynamic && substitutes_secret(&w.text))
}

/// Returns true when scp or a similar program copies a secret to a host.
pub(super) fn copies(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let Some((to, from)) = words.split_last() else { return false };
    let remote = to.text.contains(':') && !to.text.starts_with(['/', '.']);
    remote && from.iter().any(|word| secret_word(word))
}

/// Returns true when a name that is looked up carries a value.
fn looks_up(args: &Arguments<'_, '_>) -> bool {
    args.words.iter().any(|w| {
        w.kind == WordKind::Dynamic
            && w.text.contains(['(', '`'])
            // `$(…).example.com`: the look-up itself transports the value, even if it fails.
            && w.text.rsplit([')', '`']).next().is_some_and(|t| t.starts_with('.'))
    })
}

/// Returns true for `nc -e`, which gives the other side a program.
fn serves_a_program(args: &Arguments<'_, '_>) -> bool {
    args.flag("ec") || args.long("--exec --sh-exec --lua-exec")
}

/// Returns true when socat does the same.
fn connects_a_program(args: &Arguments<'_, '_>) -> bool {
    args.any(|text| begins("exec: system: shell:", &text.to_ascii_lowercase()))
}

/// Returns true for `eval "$(curl …)"` and other words that are fetched or decoded.
pub(super) fn runs_a_fetch(args: &Arguments<'_, '_>) -> bool {
    let ways = ["curl ", "wget ", "fetch ", "base64 -d", "base64 --decode"];
    let mut dynamic = args.words.iter().filter(|w| w.kind == WordKind::Dynamic);
    dynamic.any(|w| w.text.contains(['(', '`']) && ways.iter().any(|way| w.text.contains(way)))
}

/// Returns the files that curl or wget send.
fn sent_files<'w>(args: &Arguments<'w, '_>) -> impl Iterator<Item = String> {
    // curl reads the file behind an `@`: `-d @file`, `-F name=@file`.
    let at = args.texts().filter_map(|text| text.split_once('@').map(|(_, file)| file));
    let named = args.values("-T --upload-file --post-file --body-file");
    at.chain(named).map(expand)
}

/// Returns true for `$(cat ~/.token)`, `` `env` `` and the like.
fn substitutes_secret(text: &str) -> bool {
    let Some(at) = text.find("$(").or_else(|| text.find('`')) else { return false };
    let inner = text.get(at..).unwrap_or_default();
    inner
        .split(|c: char| c.is_whitespace() || "()`;|&<>\"'".contains(c))
        .any(|word| guarded(&expand(word)) || matches!(word, "env" | "printenv"))
}
