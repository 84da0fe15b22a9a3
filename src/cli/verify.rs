//! `countersign verify TOKEN -- CMD`: checks that a person approved exactly this command, and that
//! it runs once.

use super::{
    Context, Exit,
    caller::{self, GivenCall},
    log::proof::public_key,
    say,
};
use anyhow::{Context as _, Result, bail};
use countersign_client::ClientError;
use countersign_domain::log::{ExecutionToken, RefusedToken};
use countersign_tokens::clock;
use std::{
    fmt,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
For scripts and jobs that run what somebody approved elsewhere:
  TOKEN=$(countersign ask --token -- make deploy)
  countersign verify \"$TOKEN\" -- make deploy && make deploy

The words and the folder have to be those that were approved. With --key and --spent no daemon is
needed, and the folder has to exist (mkdir -m 700); otherwise the daemon checks the token and remembers that it was used.
The exit code is 0 if the command may run, and 6 if not.")]
pub(super) struct VerifyTokenArgs {
    /// The execution token
    token: String,
    /// The public key of the daemon that signed it, or a file with the key
    #[arg(long, value_name = "KEY", requires = "spent")]
    key: Option<String>,
    /// The folder in which used tokens are remembered, for all that could use this one; it must exist
    #[arg(long, value_name = "FOLDER", requires = "key")]
    spent: Option<PathBuf>,
    #[command(flatten)]
    call: GivenCall,
}

pub(super) async fn run(context: &Context, args: VerifyTokenArgs) -> Result<Exit> {
    let digest = digest(&args)?;
    let token: ExecutionToken = match args.token.parse() {
        Ok(token) => token,
        Err(why) => return Ok(refused(&why)),
    };
    if token.digest != digest {
        return Ok(refused(&RefusedToken::OtherCall));
    }
    match (&args.key, &args.spent) {
        (Some(key), Some(spent)) => {
            let now = clock::now_ms() / 1_000;
            if let Err(why) = token.check(&public_key(key)?, &digest, now) {
                return Ok(refused(&why));
            }
            if let Err(why) = spend(&token, spent)? {
                return Ok(refused(&why));
            }
        }
        _ => match context.client()?.report_execution(&token.to_string(), None).await {
            Ok(_) => {}
            Err(ClientError::Rejected(why) | ClientError::Refused(why)) => {
                return Ok(refused(&why));
            }
            // FAIL-CLOSED: without the daemon nobody knows whether it was used.
            Err(error) => return Err(error.into()),
        },
    }
    say::aside(&format!("Approved, and not used before: {}", token.ask));
    Ok(Exit::Good)
}

fn refused(why: &impl fmt::Display) -> Exit {
    say::aside(&format!("Refused: {why}"));
    Exit::Unproven
}

fn digest(args: &VerifyTokenArgs) -> Result<String> {
    let given = args.call.args("nothing to check: give -- CMD, or --args JSON")?;
    Ok(ExecutionToken::digest_of(&args.call.tool, &given, Some(&caller::folder()?)))
}

/// Remembers that a token is used.
// INVARIANT: the file is created once: of all who use a token one succeeds.
fn spend(token: &ExecutionToken, folder: &Path) -> Result<Result<(), RefusedToken>> {
    let cannot = || format!("--spent {}", folder.display());
    let all = match fs::File::open(folder) {
        Ok(all) => all,
        // FAIL-CLOSED: a folder that is made anew remembers nothing, and a used token would run again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "--spent {0}: the folder is missing, so used tokens are unknown; if none was used \
             yet, make it: mkdir -m 700 {0}",
            folder.display()
        ),
        Err(error) => return Err(error).with_context(cannot),
    };
    let file = folder.join(token.name());
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(file) => {
            file.sync_all().and_then(|()| all.sync_all()).with_context(cannot)?;
            Ok(Ok(()))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Err(RefusedToken::Used)),
        Err(error) => Err(error).with_context(cannot),
    }
}
