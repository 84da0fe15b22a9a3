//! Build tools, package managers, databases, clouds: what goes beyond a look or a build.

use super::arguments::Arguments;
use crate::shell::WordKind;

const RUNS: &str = "it runs another program";
const OUTSIDE: &str = "it works outside the workspace";
const PUBLISHES: &str = "it publishes, installs or changes an account";

/// Why a command of such a tool goes beyond a plain grant of its name.
#[rustfmt::skip]
pub(super) fn judge(name: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    let sub = args.texts().find(|text| !text.starts_with(['-', '+'])).unwrap_or_default();
    // Projects and settings in a temporary directory are somebody else's, too.
    let outside = |options: &[&str]| args.values(options).iter().any(|path| args.path_elsewhere(path));
    let says = |wanted: &[&str]| args.any(|text| { let text = text.to_ascii_lowercase(); wanted.iter().any(|w| text.contains(w)) });
    match name.as_bytes() {
        b"uniq" => (args.operands(&["-f", "-s", "-w"]).len() > 1).then_some("its second operand is written"),
        b"cat" | b"head" | b"tail" => None,
        b"crontab" => (!args.has(&["-l"])).then_some("it changes what runs later"),
        b"dc" | b"bc" => says(&["!"]).then_some(RUNS),
        b"jq" | b"gojq" => args.texts().filter(|t| !t.starts_with('-')).any(|t| t == "env" || t.contains("$ENV") || t.contains("env.") || t.contains("input_filename") || t.starts_with("env|") || t.contains("|env")).then_some("it prints the environment"),
        b"less" | b"more" => args.any(|t| t.starts_with('+')).then_some(RUNS),
        b"make" | b"gmake" | b"just" | b"ninja" => {
            let sets = args.any(|t| ["SHELL=", "MAKEFLAGS=", "CC=", "CXX=", "LD=", "AR=", "MAKE=", ".SHELLFLAGS=", "RUSTC=", "CARGO=", "PYTHON="].iter().any(|v| t.starts_with(v)));
            if sets || args.long(&["--eval", "--shell"]) { return Some(RUNS) }
            outside(&["-f", "--file", "--makefile", "--justfile", "-C", "--directory", "-I"]).then_some(OUTSIDE)
        }
        b"cargo" => {
            if args.long(&["--config"]) || args.short("ZC", "pFj") || args.any(|t| t.starts_with('+') && t.contains('/')) { return Some(RUNS) }
            if matches!(sub, "install" | "uninstall" | "publish" | "login" | "logout" | "owner" | "yank") { return Some(PUBLISHES) }
            outside(&["--manifest-path", "--target-dir", "--out-dir", "--artifact-dir", "--lockfile-path"]).then_some(OUTSIDE)
        }
        b"go" => {
            if args.any(|t| { let t = t.trim_start_matches('-'); ["vettool", "toolexec", "exec", "overlay", "modfile", "gccgoflags", "ldflags=-extld"].iter().any(|o| t == *o || t.starts_with(&format!("{o}="))) }) { return Some(RUNS) }
            if sub == "generate" || (sub == "env" && args.has(&["-w", "-u"])) || args.any(|t| matches!(sub, "run" | "install" | "get") && t.contains('@')) { return Some(RUNS) }
            outside(&["-C", "-o", "-coverprofile", "-cpuprofile"]).then_some(OUTSIDE)
        }
        b"npm" | b"pnpm" | b"yarn" | b"bun" => {
            if args.long(&["--script-shell", "--node-options", "--userconfig", "--globalconfig", "--shell", "--registry", "--init-module", "--ignore-scripts=false"]) { return Some(RUNS) }
            if matches!(sub, "publish" | "unpublish" | "deprecate" | "owner" | "access" | "adduser" | "login" | "logout" | "token" | "dist-tag" | "profile" | "team" | "hook" | "org" | "star" | "link" | "exec" | "x" | "dlx") || args.has(&["-g", "--global"]) { return Some(PUBLISHES) }
            if sub == "config" && !args.has(&["get", "list", "ls"]) || sub == "set" { return Some(RUNS) }
            outside(&["--prefix", "--cwd", "--dir", "-C", "--cache", "--modules-folder"]).then_some(OUTSIDE)
        }
        b"pip" | b"pip3" => {
            if sub == "config" && !args.has(&["get", "list", "debug"]) { return Some(RUNS) }
            if args.long(&["--index-url", "--extra-index-url", "--find-links", "--trusted-host", "--config-settings", "--global-option", "--python"]) { return Some(RUNS) }
            outside(&["-t", "--target", "--prefix", "--root", "--log", "--cache-dir", "--src"]).then_some(OUTSIDE)
        }
        b"pytest" | b"py.test" => {
            if args.values(&["-p"]).iter().any(|plugin| !plugin.starts_with("no:")) || args.long(&["--pdb", "--pdbcls", "--pastebin", "--override-ini"]) { return Some(RUNS) }
            outside(&["-c", "--config-file", "--rootdir", "--confcutdir", "--basetemp", "--junitxml", "--junit-xml", "--cov-config", "--log-file"]).then_some(OUTSIDE)
        }
        b"tsc" => (outside(&["-p", "--project", "--outDir", "--outFile", "--declarationDir", "--rootDir", "--tsBuildInfoFile", "-b", "--build"]) || args.long(&["--plugins"])).then_some(OUTSIDE),
        b"gcc" | b"g++" | b"clang" | b"clang++" | b"cc" | b"c++" | b"rustc" => {
            if args.any(|t| t.starts_with("-wrapper") || t.starts_with("-fplugin") || t.starts_with("-specs") || t.starts_with('@') || t.starts_with("-Clinker") || t.contains("linker=") || t.starts_with("-fuse-ld=/") || t.starts_with("-Xclang") || t.starts_with("-load")) { return Some(RUNS) }
            outside(&["-o"]).then_some(OUTSIDE)
        }
        b"mvn" | b"mvnw" => args.any(|t| t.starts_with("exec:") || t.contains(":exec") || t.starts_with("-Dexec") || t.starts_with("antrun") || t.starts_with("deploy") || t.starts_with("-Dmaven.ext")).then_some(RUNS),
        b"gradle" | b"gradlew" => args.any(|t| t.starts_with("publish") || t.starts_with("-Dorg.gradle.jvmargs")).then_some(PUBLISHES),
        b"gh" => {
            let verb = args.texts().filter(|t| !t.starts_with('-')).nth(1).unwrap_or_default();
            let looks = matches!(verb, "view" | "list" | "status" | "diff" | "checks" | "checkout" | "watch") || sub == "status" || sub == "search";
            let api = sub == "api" && (args.long(&["--method", "--field", "--raw-field", "--input"]) || args.short("XfF", "Hqtp"));
            let broken = args.any(|t| t.contains('\n') || t.contains('\r'));
            let changes = matches!(sub, "extension" | "ext" | "alias" | "secret" | "auth" | "ssh-key" | "gpg-key" | "config" | "variable" | "codespace") || matches!(verb, "delete" | "archive" | "rename" | "transfer");
            (api || broken || changes && !looks).then_some(PUBLISHES)
        }
        b"psql" | b"pgcli" => (says(&["\\!", "program", "\\copy", "\\o ", "\\g ", "\\i ", "\\w ", "pg_read", "pg_write", "lo_export", "lo_import", "|"]) || args.short("foL", "chpUdv") || args.long(&["--file", "--output", "--log-file"])).then_some(RUNS),
        b"mysql" | b"mariadb" => (says(&["\\!", "system ", "source ", "\\.", "outfile", "dumpfile", "load_file", "load data", "sys_exec"]) || args.long(&["--tee", "--plugin-dir", "--init-command", "--defaults-file", "--defaults-extra-file", "--pager"])).then_some(RUNS),
        b"sqlite3" => (args.any(|t| t.trim_start().starts_with('.') && !matches!(t.trim(), ".tables" | ".schema" | ".help" | ".databases" | ".indexes" | ".dump") && !t.starts_with("./") && !t.starts_with("../")) || says(&["writefile", "load_extension", "readfile", "attach ", "edit(", "fts3_tokenizer", "\n."]) || args.any(|t| matches!(t, "-cmd" | "-init"))).then_some(RUNS),
        b"mongosh" | b"mongo" | b"redis-cli" => (says(&["eval", "config set", "module load", "slaveof", "replicaof", "debug", "script"]) || args.has(&["CONFIG", "MODULE", "EVAL"])).then_some(RUNS),
        b"terraform" | b"tofu" | b"terragrunt" | b"pulumi" | b"cdk" | b"serverless" | b"sls" => (matches!(sub, "apply" | "destroy" | "import" | "taint" | "untaint" | "up" | "deploy" | "remove" | "console" | "force-unlock" | "login" | "logout" | "test") || sub == "state" && !args.has(&["list", "show", "pull"]) || sub == "workspace" && args.has(&["delete", "new"]) || args.any(|t| t.starts_with("-chdir") || t.starts_with("-out") || t.starts_with("-plugin-dir"))).then_some("it changes infrastructure"),
        b"kubectl" | b"oc" | b"helm" | b"k" => {
            if args.long(&["--kubeconfig", "--server", "--token", "--as", "--context", "--cluster", "--user", "--post-renderer", "--insecure-skip-tls-verify"]) || args.short("s", "nloLcfp") { return Some(RUNS) }
            (!matches!(sub, "get" | "describe" | "logs" | "top" | "version" | "explain" | "api-resources" | "api-versions" | "cluster-info" | "diff" | "list" | "status" | "history" | "show" | "search" | "template" | "lint" | "auth" | "config" | "events" | "wait" | "") || sub == "config" && !args.has(&["view", "get-contexts", "current-context", "get-clusters"])).then_some("it changes a cluster")
        }
        b"docker" | b"podman" | b"nerdctl" | b"docker-compose" => {
            let mounts = args.values(&["-v", "--volume", "--mount"]);
            let mounts = mounts.iter().any(|m| { let from = m.split(':').next().unwrap_or_default(); from.contains('/') && args.path_outside(from) || from.contains("source=/") || from.contains("src=/") });
            let reaches = mounts || args.any(|t| t.starts_with("--pid=host") || t.starts_with("--net=host") || t.starts_with("--network=host") || t.starts_with("--cap-add") || t.starts_with("--security-opt") || t.starts_with("--device"));
            let sends = matches!(sub, "push" | "login" | "logout" | "plugin" | "swarm" | "save" | "export" | "cp" | "commit");
            (reaches || sends).then_some("it reaches beyond the container")
        }
        b"aws" | b"gcloud" | b"az" | b"doctl" | b"heroku" | b"fly" | b"flyctl" | b"vercel" | b"netlify" | b"wrangler" | b"firebase" => {
            let words: Vec<&str> = args.texts().filter(|t| !t.starts_with('-')).collect();
            let looks = words.iter().any(|w| ["describe", "list", "get-", "ls", "show", "help", "logs", "status", "info", "whoami", "head-"].iter().any(|v| w.starts_with(v)));
            let custom = args.long(&["--endpoint-url", "--profile", "--cli-input-json"]);
            (!looks || custom || words.iter().any(|w| matches!(*w, "secretsmanager" | "get-secret-value" | "get-session-token" | "assume-role"))).then_some("it changes something in a cloud")
        }
        b"dpkg" | b"rpm" | b"snap" | b"flatpak" | b"brew" | b"apk" | b"pacman" | b"gem" | b"apt" | b"apt-get" | b"dnf" | b"yum" | b"port" | b"nix-env" => {
            let looks = matches!(sub, "list" | "search" | "show" | "info" | "policy" | "depends" | "rdepends" | "config" | "outdated" | "deps" | "which" | "contents") || args.has(&["-l", "-L", "-s", "-S", "-q", "-qa", "-qi", "-ql", "-Q", "-Qi", "-Ss", "--list", "--version"]);
            (!looks && !args.words.is_empty()).then_some("it installs or removes software")
        }
        b"service" | b"systemctl" | b"launchctl" | b"rc-service" | b"initctl" => {
            let looks = args.any(|t| matches!(t, "status" | "list-units" | "list-unit-files" | "is-active" | "is-enabled" | "is-failed" | "show" | "cat" | "--status-all" | "list-timers" | "list" | "print"));
            (!looks || args.any(|t| t.contains(".."))).then_some("it changes services")
        }
        b"bundle" | b"composer" => (matches!(sub, "exec" | "config" | "global" | "run-script" | "run" | "plugin" | "x")).then_some(RUNS),
        b"uv" => (matches!(sub, "publish" | "tool" | "self")).then_some(PUBLISHES),
        b"ssh-keygen" | b"ssh-add" | b"ssh-copy-id" | b"gpg" | b"pass" | b"security" | b"op" | b"vault" => Some("it handles keys and secrets"),
        b"ps" | b"pgrep" => None,
        b"kill" | b"pkill" | b"killall" => args.any(|t| t == "-1" && args.words.len() > 1 && args.words.last().is_some_and(|w| w.text == "-1")).then_some("it stops every process"),
        b"openssl" => args.any(|t| matches!(t, "-engine" | "-out" | "-provider" | "-provider-path" | "-writerand" | "s_client" | "s_server" | "engine")).then_some(RUNS),
        b"iptables" | b"ip6tables" | b"nft" | b"ufw" | b"firewall-cmd" | b"ip" | b"route" | b"ifconfig" | b"nmcli" => (!args.any(|t| matches!(t, "status" | "show" | "list" | "-L" | "-S" | "a" | "addr" | "r" | "link" | "-n" | "ls")) && !args.words.is_empty() || args.any(|t| matches!(t, "add" | "del" | "set" | "flush" | "exec" | "-b" | "-batch"))).then_some("it changes the network"),
        b"sysctl" => (args.short("wp", "") || args.any(|t| t.contains('='))).then_some("it changes the kernel's settings"),
        b"mount" | b"umount" => (!args.words.is_empty()).then_some("it changes mounts"),
        b"perl" | b"ruby" | b"python" | b"python3" | b"node" | b"php" | b"lua" | b"deno" => (args.open || args.words.first().is_some_and(|w| w.kind == WordKind::Dynamic)).then_some("what it runs is only known when it runs"),
        _ => None,
    }
}
