//! curl and wget: what they write, send and read besides a page.

use crate::facts::paths;
use crate::facts::programs::arguments::Arguments;

const SENDS: &str = "it sends a value that is only known when it runs";

/// Checks curl: a fetch to standard output is plain; files, uploads and configurations are not.
pub(crate) fn curl(args: &Arguments<'_, '_>) -> Option<&'static str> {
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
            return Some(SENDS);
        }
    }
    args.uncertain().then_some(SENDS)
}

/// Checks wget for files with a given name, uploads and configurations.
pub(crate) fn wget(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let output = args.values("-O --output-document -o --output-file -a");
    if !output.iter().all(|file| *file == "-" || paths::sink(file)) {
        return Some("it writes what it fetched to a named file");
    }
    if args.short("eiPI", "tTUwQYBDlAROoa")
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

fn is_local(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name =
        if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    matches!(name, "localhost" | "127.0.0.1" | "0.0.0.0") || host.starts_with("[::1]")
}
