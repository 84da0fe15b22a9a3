//! `countersign up`: sets everything up in one guided command, which can be repeated.

mod background;
mod service;
mod started;

use super::{
    Context, Exit, connect, init,
    installed::{ConfigState, Installed, ready},
    open,
    prompt::confirmed,
    say,
};
use crate::config::Config;
use anyhow::{Context as _, Result, anyhow, bail};
use service::Service;
use std::{
    io::{self, IsTerminal},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How long a daemon may take until it takes asks.
const START: Duration = Duration::from_secs(20);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The steps: a config with fresh tokens, the daemon as a service of this user, the agents that are
found here, your phone, the inbox. Each is skipped where it is done already, and asks before it
changes a file of another program. Nothing that is there is replaced. With --yes it asks nothing,
connects every agent that it finds, opens no browser and pairs no phone.")]
pub(super) struct UpArgs {
    /// Ask nothing
    #[arg(short, long)]
    yes: bool,
    /// Start the daemon in the background where there is no service manager
    #[arg(long)]
    background: bool,
    /// Change no agent's settings
    #[arg(long)]
    no_agents: bool,
}

pub(super) async fn run(context: &Context, args: &UpArgs) -> Result<Exit> {
    if !args.yes && !io::stdin().is_terminal() {
        bail!("nobody is here to agree to the steps; --yes takes them without asking");
    }
    let config = config(context)?;
    daemon(context, &config, args).await?;
    let installed = Installed::look(context).await?;
    if !args.no_agents {
        agents(context, &installed, args.yes)?;
    }
    phone(context, &installed, args.yes).await?;
    if args.yes {
        say::out("\nDone. `countersign open` opens the inbox.")?;
        return Ok(Exit::Good);
    }
    say::out("")?;
    open::inbox(context).await?;
    say::out("Done. Run `countersign up` again at any time; it repeats nothing.")?;
    Ok(Exit::Good)
}

/// The config of this user; one with fresh tokens where there is none.
fn config(context: &Context) -> Result<Config> {
    let file = Config::file(context.flag.as_deref())?;
    if !file.exists() {
        let made = init::write(&file, false)?;
        say::out(&format!(
            "config    made {} and {}",
            made.config.display(),
            made.token.display()
        ))?;
        return context.config();
    }
    let config = context.config()?;
    say::out(&format!("config    {}", file.display()))?;
    Ok(config)
}

/// Starts the daemon where none runs.
async fn daemon(context: &Context, config: &Config, args: &UpArgs) -> Result<()> {
    if ready(config).await.is_some() {
        return say::out("daemon    runs already");
    }
    if !config.serves_here() {
        let servers: Vec<_> = config.client.url.iter().map(ToString::to_string).collect();
        bail!("this machine has agents only, and no daemon answers at {}", servers.join(", "));
    }
    let how = match Service::of_this_user(context)? {
        Some(service) => service.start(args.yes)?,
        None if args.background => background::start(context, config)?,
        None => bail!(
            "there is no service manager for this user here. Run `countersign serve` in a terminal \
             of its own and then `countersign up` again, or let `countersign up --background` \
             start it until the next restart of the machine"
        ),
    };
    let Some(how) = how else {
        bail!("the daemon was not started; `countersign serve` runs it in a terminal")
    };
    let since = Instant::now();
    while ready(config).await.is_none() {
        if since.elapsed() > START {
            return Err(anyhow!("look at {}", how.log)).context("the daemon did not start");
        }
        sleep(LOOK).await;
    }
    say::out(&format!("daemon    runs {}", how.what))
}

/// Connects the agents that are here.
fn agents(context: &Context, installed: &Installed, yes: bool) -> Result<()> {
    for agent in &installed.connected {
        say::out(&format!("agent     {} is connected", agent.title().name))?;
    }
    for agent in &installed.found {
        say::out(&format!("agent     {}:", agent.title().name))?;
        // One agent whose settings cannot be read does not keep the others away.
        if let Err(error) = connect::agent(context, *agent, yes) {
            say::problem(&error);
        }
    }
    if installed.connected.is_empty() && installed.found.is_empty() {
        say::out(
            "agent     none is found here; `countersign connect --help` names those it knows",
        )?;
    }
    Ok(())
}

/// Offers a phone where none is connected.
async fn phone(context: &Context, installed: &Installed, yes: bool) -> Result<()> {
    if let ConfigState::Good(_) = &installed.config
        && let Some(chat) = installed.phone_to_offer()
    {
        let command = format!("countersign connect {chat}");
        if yes || !confirmed("phone     Be asked on your phone too? You need a bot's token.", "--yes skips it")?
        {
            return say::out(&format!("phone     none; `{command}` connects one at any time"));
        }
        return connect::phone(context, chat).await;
    }
    let chats = installed.chats();
    if chats.is_empty() { Ok(()) } else { say::out(&format!("phone     {}", chats.join(", "))) }
}
