//! `countersign passkeys`: what people sign in to the inbox with.

use super::{
    Context, Exit, complete,
    say::{self, Colour},
    table::{self, Cell},
    token,
    when::when,
};
use anyhow::Result;
use countersign_domain::wire::PasskeyView;
use serde_json::json;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
People add passkeys themselves, on the inbox's page, after they have signed in another way."
)]
pub(super) struct PasskeysArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<PasskeysCommand>,
}

#[cfg(test)]
impl PasskeysArgs {
    pub(super) fn removes(&self) -> bool {
        self.command.is_some()
    }
}

#[derive(Debug, clap::Subcommand)]
enum PasskeysCommand {
    /// Remove a passkey, and sign out who is signed in with it. It works at once
    Remove {
        /// The passkey, as `countersign passkeys` shows it
        #[arg(value_name = "ID", add = complete::passkeys())]
        passkey: String,
    },
}

pub(super) async fn run(context: &Context, args: PasskeysArgs) -> Result<Exit> {
    let client = context.approver()?;
    match args.command {
        Some(PasskeysCommand::Remove { passkey }) => {
            let gone = client.remove_passkey(&passkey).await?;
            let (name, person) = (say::literal(&gone.name), say::literal(&gone.person));
            say::out(&format!("Removed: {name} of {person}. Nobody signs in with it any more."))?;
        }
        None => {
            let passkeys = client.passkeys().await?;
            if args.json {
                say::json(&json!({ "passkeys": passkeys }))?;
            } else if passkeys.is_empty() {
                say::out("Nobody has a passkey.")?;
            } else {
                say::out(&table::draw(&passkeys.iter().map(row).collect::<Vec<_>>()))?;
            }
        }
    }
    Ok(Exit::Good)
}

fn row(passkey: &PasskeyView) -> Vec<Cell> {
    let (colour, state) = match passkey.accepted {
        true => (Colour::Green, "accepted"),
        false => (Colour::Yellow, "its person left"),
    };
    let used = passkey.last_used_at.as_deref().map(|at| format!("used {}", when(at)));
    vec![
        Cell::plain(&passkey.id),
        Cell::plain(&say::literal(&passkey.person)),
        Cell::plain(&say::literal(&passkey.name)),
        Cell::coloured(colour, state),
        Cell::plain(&format!("added {}", when(&passkey.created_at))),
        Cell::plain(&used.unwrap_or_else(|| "never used".to_owned())),
    ]
}
