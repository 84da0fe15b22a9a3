//! Wrappers by name: which options take a value, how many operands stand before the command.

use super::Passage;

/// How to find the inner command of a wrapper.
pub(super) struct Spec {
    pub(super) passage: Passage,
    /// Short options with a value in the next word.
    shorts: &'static str,
    /// Long options with a value in the next word.
    longs: &'static [&'static str],
    /// Options with which it does something else than run the command.
    opaque: &'static [&'static str],
    /// Words before the command (`timeout 5`).
    pub(super) operands: usize,
    /// `NAME=value` words may stand before the command.
    pub(super) assigns: bool,
    /// It appends words that are not known.
    pub(super) open: bool,
    /// Without a command it does nothing that matters.
    pub(super) silent: bool,
    /// Its options are not known: any word may be the command.
    pub(super) anywhere: bool,
}

impl Spec {
    const fn new(passage: Passage, shorts: &'static str, longs: &'static [&'static str]) -> Self {
        Self {
            passage,
            shorts,
            longs,
            opaque: &[],
            operands: 0,
            assigns: false,
            open: false,
            silent: true,
            anywhere: false,
        }
    }

    /// The next word belongs to this option.
    pub(super) fn takes_value(&self, option: &str) -> bool {
        if let Some(long) = option.strip_prefix("--") {
            return self.longs.contains(&long);
        }
        let flags = option.get(1..).unwrap_or_default();
        match flags.find(|c| self.shorts.contains(c)) {
            Some(at) => at + 1 == flags.len(),
            None => false,
        }
    }

    /// With this option an allow of the inner command is not enough.
    pub(super) fn opaque_option(&self, option: &str) -> bool {
        self.opaque.iter().any(|opaque| match opaque.strip_prefix("--") {
            // Long options may be shortened.
            Some(_) => {
                let name = option.split('=').next().unwrap_or(option);
                name.len() > 3 && opaque.starts_with(name)
            }
            None => {
                let letter = opaque.trim_start_matches('-');
                !option.starts_with("--") && option.contains(letter)
            }
        })
    }
}

/// The wrapper of that name.
pub(super) fn spec(name: &str) -> Option<&'static Spec> {
    Some(match name.as_bytes() {
        b"env" | b"genv" => &ENV,
        b"timeout" | b"gtimeout" => &TIMEOUT,
        b"nice" => &NICE,
        b"ionice" => &IONICE,
        b"nohup" | b"noglob" | b"nocorrect" => &PLAIN,
        b"setsid" => &SETSID,
        b"time" | b"gtime" => &TIME,
        b"stdbuf" | b"gstdbuf" => &STDBUF,
        b"command" | b"builtin" => &COMMAND,
        b"xargs" | b"gxargs" => &XARGS,
        b"sudo" => &SUDO,
        b"doas" => &DOAS,
        b"exec" => &EXEC,
        b"flock" | b"chroot" | b"taskset" | b"chrt" | b"setarch" | b"start-stop-daemon"
        | b"runcon" | b"strace" | b"ltrace" | b"unshare" | b"nsenter" | b"systemd-run"
        | b"systemd-inhibit" | b"pkexec" | b"rlwrap" | b"chronic" | b"caffeinate" | b"parallel"
        | b"script" | b"tmux" | b"screen" | b"busybox" | b"toybox" | b"fakeroot" | b"xvfb-run"
        | b"dbus-run-session" | b"unbuffer" | b"expect" | b"torsocks" | b"proxychains"
        | b"proxychains4" | b"valgrind" | b"perf" | b"setpriv" | b"capsh" | b"sg" | b"cgexec"
        | b"numactl" | b"prlimit" | b"hyperfine" | b"entr" | b"eatmydata" | b"tini"
        | b"dumb-init" | b"watchexec" | b"firejail" | b"bwrap" | b"proot" | b"at" | b"batch"
        | b"run-parts" | b"linux32" | b"linux64" | b"i386" | b"x86_64" | b"daemonize"
        | b"choom" | b"uclampset" | b"ld.so" | b"gosu" | b"su-exec" | b"setuidgid" | b"chpst"
        | b"envdir" | b"softlimit" | b"dtach" | b"abduco" | b"nix-shell" | b"sshpass"
        | b"catchsegv" | b"faketime" | b"wine" | b"qemu-x86_64" | b"ld-linux" | b"aa-exec" => {
            &ANYWHERE
        }
        _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") => &ANYWHERE,
        _ => return None,
    })
}

static PLAIN: Spec = Spec::new(Passage::Inner, "", &[]);
static ENV: Spec = Spec {
    assigns: true,
    // `-S` splits a string into a command, `-C` runs it elsewhere.
    opaque: &["-S", "--split-string", "-C", "--chdir"],
    ..Spec::new(Passage::Inner, "uCS", &["unset", "chdir", "split-string"])
};
static TIMEOUT: Spec =
    Spec { operands: 1, ..Spec::new(Passage::Inner, "ks", &["kill-after", "signal"]) };
static NICE: Spec = Spec::new(Passage::Inner, "n", &["adjustment"]);
static IONICE: Spec = Spec {
    opaque: &["-p", "-P", "-u"],
    ..Spec::new(Passage::Inner, "cnpPu", &["class", "classdata", "pid", "pgid", "uid"])
};
static SETSID: Spec = Spec::new(Passage::Inner, "", &[]);
static TIME: Spec = Spec {
    opaque: &["-o", "--output", "-a", "--append"],
    ..Spec::new(Passage::Inner, "fo", &["format", "output"])
};
static STDBUF: Spec = Spec::new(Passage::Inner, "ioe", &["input", "output", "error"]);
static COMMAND: Spec = Spec::new(Passage::Inner, "", &[]);
static XARGS: Spec = Spec {
    open: true,
    ..Spec::new(
        Passage::Inner,
        "IadELnPsJRS",
        &[
            "arg-file",
            "delimiter",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ],
    )
};
static SUDO: Spec = Spec {
    assigns: true,
    silent: false,
    ..Spec::new(
        Passage::DenyOnly,
        "ugpCDhRrTtU",
        &[
            "user",
            "group",
            "prompt",
            "close-from",
            "chdir",
            "host",
            "chroot",
            "role",
            "type",
            "other-user",
        ],
    )
};
static DOAS: Spec = Spec { silent: false, ..Spec::new(Passage::DenyOnly, "uC", &[]) };
static EXEC: Spec = Spec::new(Passage::DenyOnly, "a", &[]);
static ANYWHERE: Spec = Spec { anywhere: true, ..Spec::new(Passage::DenyOnly, "", &[]) };

/// Programs whose sub-command runs a command elsewhere or from a package: the words behind it, or
/// `None` when this call runs none.
pub(super) fn runs_elsewhere<'w>(
    name: &str,
    words: impl Iterator<Item = &'w str>,
) -> Option<usize> {
    let runs: &[&str] = match name.as_bytes() {
        b"npx" | b"bunx" | b"pnpx" | b"uvx" => return Some(0),
        b"npm" | b"pnpm" | b"yarn" | b"bun" => &["exec", "x", "dlx"],
        b"docker" | b"podman" | b"nerdctl" | b"kubectl" | b"oc" | b"lxc" => &["exec", "run"],
        b"uv" | b"poetry" | b"pipenv" | b"rye" | b"pdm" | b"hatch" | b"conda" | b"mamba"
        | b"pipx" | b"nix" => &["run"],
        b"bundle" | b"composer" | b"direnv" | b"mise" | b"asdf" => &["exec", "x"],
        _ => return None,
    };
    let mut operands = words.enumerate().filter(|(_, word)| !word.starts_with('-'));
    operands.find_map(|(at, word)| runs.contains(&word).then_some(at + 1))
}
