//! `countersign connect` and `disconnect`: a phone, or the hooks of an agent.

mod hooks;
mod phone;
mod setup;

pub(super) use hooks::{hook_command, reconnect};

use super::{Context, Exit, Misused, good, wait};
use crate::platforms::{BUILT_IN, Registered, guided};
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use countersign_agents::{AGENTS, HookAgent, HookMode};
use hooks::HooksArgs;
use phone::PhoneOptions;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent: shows the change to its settings first, and keeps everything else in the file.
A chat platform: asks for a bot's token, prints a link and a QR code, asks whether the person who
opened it may answer, writes the config and sends a test card. Running it again changes nothing that
works.")]
pub(super) struct ConnectArgs {
    /// An agent, or the chat platform of your phone
    #[arg(value_name = "WHAT", value_parser = parser())]
    what: What,
    /// Change it without asking
    #[arg(short, long)]
    yes: bool,
    /// An agent's settings file [default: its own of this user]
    #[arg(long, value_name = "FILE", help_heading = "For an agent")]
    settings: Option<PathBuf>,
    /// An agent's every call is decided here, in all of its modes. `ask`: only those that a rule
    /// asks for or denies; its own judge has the rest. `dialog`: every call, each as a dialog of the
    /// agent's, which no judge of it overrules
    #[arg(long, help_heading = "For an agent", value_name = "HOW", num_args = 0..=1,
        require_equals = true, default_missing_value = "all")]
    gate: Option<Gate>,
    /// Only what an agent's own judge has blocked comes here
    #[arg(long, help_heading = "For an agent", conflicts_with = "gate")]
    appeals: bool,
    #[command(flatten)]
    phone: PhoneOptions,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent: shows the change to its settings first, and keeps everything else in the file as it stands.
A chat platform, such as for a lost phone: takes its section and the people listed for it out of the
config; with --person one person alone, by the name in [[people]] or the id in [approvers]. The
running daemon takes it at once, and what they approved for longer than once is listed.")]
pub(super) struct DisconnectArgs {
    /// An agent, or a chat platform
    #[arg(value_name = "WHAT", value_parser = parser())]
    what: What,
    /// Change it without asking
    #[arg(short, long)]
    yes: bool,
    /// An agent's settings file [default: its own of this user]
    #[arg(long, value_name = "FILE", help_heading = "For an agent")]
    settings: Option<PathBuf>,
    /// Only this person: a name or an id
    #[arg(long, value_name = "NAME", help_heading = "For a phone")]
    person: Option<String>,
}

/// The calls that a gate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Gate {
    /// Every one.
    All,
    /// Those that a rule asks for or denies.
    Ask,
    /// Every one, as a prompt of the agent's own.
    Dialog,
}

/// The mode that these options choose; `None` without one.
pub(super) fn mode(gate: Option<Gate>, appeals: bool) -> Option<HookMode> {
    match (gate, appeals) {
        (Some(Gate::All), _) => Some(HookMode::EveryCall),
        (Some(Gate::Ask), _) => Some(HookMode::RuledCalls),
        (Some(Gate::Dialog), _) => Some(HookMode::Dialogs),
        (None, true) => Some(HookMode::Blocks),
        (None, false) => None,
    }
}

/// What is connected.
#[derive(Debug, Clone, Copy)]
enum What {
    Agent(&'static dyn HookAgent),
    Chat(&'static Registered),
}

pub(super) fn connect(context: &Context, args: ConnectArgs) -> Result<Exit> {
    let ConnectArgs { what, yes, settings, gate, appeals, phone } = args;
    let mode = mode(gate, appeals).unwrap_or_default();
    match what {
        What::Agent(agent) => match phone.first_given() {
            Some(option) => Err(misused(option, "a chat platform")),
            None => {
                wait(hooks::connect(context, &HooksArgs { agent, settings, yes, mode })).map(good)
            }
        },
        What::Chat(_) if gate.is_some() => Err(misused("--gate", "an agent")),
        What::Chat(_) if appeals => Err(misused("--appeals", "an agent")),
        What::Chat(_) if settings.is_some() => Err(misused("--settings", "an agent")),
        What::Chat(chat) => wait(phone::run(context, chat, &phone, yes)),
    }
}

pub(super) fn disconnect(context: &Context, args: DisconnectArgs) -> Result<()> {
    let DisconnectArgs { what, yes, settings, person } = args;
    match what {
        What::Agent(_) if person.is_some() => Err(misused("--person", "a chat platform")),
        What::Agent(agent) => {
            let mode = HookMode::Prompts;
            wait(hooks::disconnect(context, &HooksArgs { agent, settings, yes, mode }))
        }
        What::Chat(_) if settings.is_some() => Err(misused("--settings", "an agent")),
        What::Chat(chat) => wait(phone::disconnect(context, chat, person.as_deref(), yes)),
    }
}

/// Puts the hooks into the settings of an agent, for the calls that it would prompt for.
pub(super) async fn agent(
    context: &Context,
    agent: &'static dyn HookAgent,
    yes: bool,
) -> Result<()> {
    let args = HooksArgs { agent, settings: None, yes, mode: HookMode::Prompts };
    hooks::connect(context, &args).await
}

/// Connects a phone by its chat platform's name.
pub(super) async fn phone(context: &Context, chat: &str) -> Result<()> {
    if let Some(chat) = BUILT_IN.iter().find(|it| it.name == chat) {
        phone::run(context, chat, &PhoneOptions::default(), false).await?;
    }
    Ok(())
}

fn misused(option: &str, only_for: &str) -> anyhow::Error {
    Misused(format!("{option} is only for {only_for}")).into()
}

fn agents() -> impl Iterator<Item = PossibleValue> {
    AGENTS.iter().map(|agent| {
        let title = agent.title();
        PossibleValue::new(agent.name()).help(format!("{}, {}", title.name, title.versions))
    })
}

fn parser() -> impl TypedValueParser<Value = What> {
    let chats = guided().map(|name| PossibleValue::new(name).help("your phone"));
    PossibleValuesParser::new(agents().chain(chats)).try_map(|name| {
        let chat = || BUILT_IN.iter().find(|it| it.name == name).map(What::Chat);
        let found = countersign_agents::find(&name).map(What::Agent).or_else(chat);
        found.ok_or_else(|| format!("`{name}` is neither an agent nor a chat platform"))
    })
}

/// A parser for the names of the agents that have hooks.
pub(super) fn agent_parser() -> impl TypedValueParser<Value = &'static dyn HookAgent> {
    PossibleValuesParser::new(agents()).try_map(|name| {
        countersign_agents::find(&name).ok_or_else(|| format!("`{name}` has no hooks"))
    })
}
