//! Programs given on an interpreter's command line.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::reasons::{FETCHED, REMOTE};

/// Checks programs given on an interpreter's command line, for the plainest patterns only.
pub(crate) fn code(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let given = args.words.windows(2).filter_map(|pair| match pair {
        [option, code] if matches!(&*option.text, "-c" | "-e" | "-E" | "-r" | "--eval" | "-p") => {
            Some(&*code.text)
        }
        _ => None,
    });
    // Code can hide anything, so this is no protection: running it needs an allow in the first
    // place. The list only makes the plainest cases critical.
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
