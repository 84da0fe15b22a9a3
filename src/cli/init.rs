//! `countersign init`: writes a commented config with fresh tokens.

use super::{
    Context,
    files::{back_up, private_file},
    say, step,
};
use crate::{
    config::{Config, template},
    platforms::{BUILT_IN, guided},
};
use anyhow::{Context as _, Result, bail};
use countersign_tokens::{ids, secret::TokenHash};
use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes the config with two fresh tokens as hashes, the agent token itself under [client], and the
approver token itself into approver.token beside it; all private (mode 0600).")]
pub(super) struct InitArgs {
    /// Replace a config that is there, after a copy of it; its tokens stop working
    #[arg(long)]
    force: bool,
}

/// The files that were written.
pub(super) struct Made {
    pub(super) config: PathBuf,
    pub(super) token: PathBuf,
    /// The copies of what was there before.
    pub(super) backups: Vec<PathBuf>,
}

pub(super) fn run(context: &Context, args: &InitArgs) -> Result<()> {
    let made = write(&Config::file(context.flag.as_deref())?, args.force)?;
    for backup in &made.backups {
        say::out(&format!("Saved a backup: {}.", backup.display()))?;
    }
    let steps = [
        Some(step("serve --demo", "run the daemon, with a first ask to press")),
        Some(step("connect claude-code", "let Claude Code ask here")),
        guided().next().map(|name| step(&format!("connect {name}"), "be asked on your phone")),
        Some(step("doctor", "check all of it")),
    ];
    say::out(&format!(
        "Made {config} and {token}.\n\n\
         The token in {token} can answer asks: keep it away from your agents.\n\n\
         Next:\n{steps}",
        config = made.config.display(),
        token = made.token.display(),
        steps = steps.into_iter().flatten().collect::<Vec<_>>().join("\n"),
    ))
}

/// Writes a config and its tokens.
pub(super) fn write(config: &Path, force: bool) -> Result<Made> {
    let token = config.with_file_name("approver.token");
    if !force && let Some(there) = [config, token.as_path()].into_iter().find(|file| file.exists())
    {
        bail!("{} already exists; --force replaces it", there.display());
    }
    if let Some(folder) = config.parent().filter(|folder| !folder.exists()) {
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let backups = [config, token.as_path()].map(back_up).into_iter();
    let backups = backups.filter_map(Result::transpose).collect::<Result<_>>()?;
    let agent = ids::token();
    let approver = ids::token();
    private_file(config, &fill(&agent, &approver))?;
    // A file of its own, because agents' clients read the config.
    private_file(&token, &format!("{approver}\n"))?;
    Ok(Made { config: config.into(), token, backups })
}

/// The template with the tokens inserted.
fn fill(agent: &str, approver: &str) -> String {
    let hash = |token: &str| TokenHash::of(token).to_string();
    template(BUILT_IN)
        .replace("# agent_token = \"sha256:…\"", &format!("agent_token = \"{}\"", hash(agent)))
        .replace(
            "# approver_token = \"sha256:…\"",
            &format!("approver_token = \"{}\"", hash(approver)),
        )
        // Only the first one, under [client]: sections of platforms have a `token` too.
        .replacen("# token = \"…\"", &format!("token = \"{agent}\""), 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_init_writes_is_a_config_whose_tokens_fit_and_that_only_its_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/countersign.toml");
        let made = write(&file, false).unwrap();
        let config = Config::load(Some(&made.config)).unwrap();
        let approver = fs::read_to_string(&made.token).unwrap();
        assert!(config.daemon.approver_token.unwrap().hash().matches(approver.trim()));
        let agent = config.client.token.unwrap();
        assert!(config.daemon.agent_token.unwrap().hash().matches(agent.reveal()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let modes = [&made.config, &made.token, &folder.path().join("new")].map(|path| mode(path));
        assert_eq!(modes, [0o600, 0o600, 0o700]);
    }

    #[test]
    fn a_config_that_is_there_is_written_over_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("countersign.toml");
        fs::write(&file, "# mine\n").unwrap();
        let refused = write(&file, false).err().unwrap().to_string();
        assert_eq!(refused, format!("{} already exists; --force replaces it", file.display()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
        let [first, second] = [(), ()].map(|()| write(&file, true).unwrap());
        let names = |made: &Made| -> Vec<String> {
            let names = made.backups.iter().filter_map(|path| path.file_name());
            names.map(|name| name.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&first), ["countersign.toml.1.bak"]);
        assert_eq!(names(&second), ["countersign.toml.2.bak", "approver.token.1.bak"]);
        assert_eq!(fs::read_to_string(&first.backups[0]).unwrap(), "# mine\n");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert!(second.backups.iter().all(|backup| mode(backup) == 0o600));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
