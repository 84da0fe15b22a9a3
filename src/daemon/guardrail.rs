//! The guardrail over the bridge's own folders, files, program, addresses and process.

use crate::config::{self, Config};
use countersign_policy::{Guardrail, Ours};
use std::{
    env,
    net::{IpAddr, UdpSocket},
    path::{Path, PathBuf},
};

/// The guardrail: no rule, grant or button permits calls that touch our own commands, files,
/// sockets or tokens.
#[must_use]
pub fn guardrail(config: &Config, rules: &Path) -> Guardrail {
    let mut paths = files(config, rules);
    paths.extend(folders(config, rules));
    // A folder of ours may be behind a link, so both spellings are protected.
    let real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    paths.extend(real);
    let program = env::current_exe().ok().map(|program| program.display().to_string());
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let hosts = [format!("{host}.local"), host].into_iter();
    Guardrail::new(Ours {
        paths: paths.iter().map(|path| path.display().to_string()).collect(),
        programs: [Some("countersign".to_owned()), program].into_iter().flatten().collect(),
        addresses: [config.daemon.listen.to_string()]
            .into_iter()
            .chain(config.store.database.address())
            .collect(),
        hosts: hosts.chain(addresses()).collect(),
        public_url: config.daemon.public_url.as_ref().map(|url| url.origin.clone()),
        pids: vec![std::process::id()],
    })
}

/// The files, and folders with nothing else in them.
fn files(config: &Config, rules: &Path) -> Vec<PathBuf> {
    let mut paths =
        vec![rules.to_owned(), config.daemon.state_dir.clone(), config.daemon.socket.clone()];
    paths.extend(rules.parent().map(|folder| folder.join("workers")));
    if let Some(file) = config.store.database.file() {
        let beside = |end: &str| PathBuf::from(format!("{}{end}", file.display()));
        paths.extend(["", "-wal", "-shm", "-journal"].map(beside));
    }
    if let Some(file) = &config.path {
        paths.push(file.clone());
        paths.extend(backups(file));
        paths.extend(file.parent().map(|folder| folder.join("approver.token")));
    }
    paths.extend(config::secret_files(config.path.as_deref()));
    paths.extend(countersign_client::session::key_file());
    paths
}

/// The copies that `init --force` and `connect` made of the config and the token beside it.
pub(super) fn backups(config: &Path) -> Vec<PathBuf> {
    let entries = config.parent().and_then(|folder| folder.read_dir().ok());
    let names = [config.file_name().unwrap_or_default(), "approver.token".as_ref()];
    let is_backup = |path: &PathBuf| {
        // Two endings: `countersign.toml.1.bak`.
        let stem = path.file_stem().map(Path::new).and_then(Path::file_stem);
        path.extension().is_some_and(|end| end == "bak")
            && stem.is_some_and(|it| names.contains(&it))
    };
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_backup).collect()
}

/// The parent folders of the files, unless other programs have files there too.
fn folders(config: &Config, rules: &Path) -> Vec<PathBuf> {
    let store = config.store.database.file();
    let all = [config.path.as_deref(), Some(rules), Some(&config.daemon.socket), store];
    let folders = all.into_iter().flatten().filter_map(Path::parent);
    let credentials = env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    folders.filter(|folder| is_own(folder)).map(Path::to_path_buf).chain(credentials).collect()
}

/// Returns whether a folder is ours alone: not the home folder, a system folder or a workspace.
fn is_own(folder: &Path) -> bool {
    let home = etcetera::home_dir().unwrap_or_default();
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).unwrap_or_default();
    let shared = home.starts_with(folder)
        || folder == runtime
        || folder == env::temp_dir()
        || folder.join(".git").exists()
        || folder.components().count() < 3;
    let known = ["/var/lib", "/var/run", "/var/tmp", "/run/user", "/usr/local", "/usr/local/etc"];
    !shared && !known.iter().any(|known| folder == Path::new(known))
}

/// The addresses of this machine: the ones it uses towards other hosts, and those of the kernel's
/// table.
fn addresses() -> Vec<String> {
    // Nothing is sent: `connect` on a UDP socket only selects the route and so the local address.
    let towards = |from: &str, to: &str| -> Option<IpAddr> {
        let socket = UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    // Addresses reserved for documentation, which take the default route.
    let out = [towards("0.0.0.0:0", "192.0.2.1:9"), towards("[::]:0", "[2001:db8::1]:9")];
    let table = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut all: Vec<String> = out.into_iter().flatten().map(|ip| ip.to_string()).collect();
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    for pair in lines.windows(2) {
        if let [address, kind] = pair
            && kind.starts_with("/32 host LOCAL")
        {
            all.extend(address.strip_prefix("|-- ").map(str::to_owned));
        }
    }
    all
}
