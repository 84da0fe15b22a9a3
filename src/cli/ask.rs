//! `countersign ask`: asks whether a command may run, or asks a person a question.

use super::{
    Context, Exit, ask_lines,
    asking::{self, CardShown, InterruptSignals},
    caller::{self, Caller},
    exit::Misused,
    say, when,
};
use anyhow::{Context as _, Result};
use countersign_client::{Client, Decided, Ending, Submitted};
use countersign_domain::exact_json;
use countersign_gate::{
    ask::{
        Decision,
        budget::{self, Budget, BudgetCall},
    },
    call::{Accepts, Call},
    question::{Choice, Question},
};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign ask -- rm -rf build && rm -rf build
  countersign ask --tool write_file --args '{\"path\": \"/etc/motd\", \"content\": \"hi\"}'
  countersign ask --budget 30m -- 'make build' 'make test' 'git push origin main'
  countersign ask --question 'Which database?' --option SQLite --option Postgres

The exit code is the answer: 0 allowed, 3 denied, 5 nobody answered in time, 8 still pending. Who
decided is printed; for a question the answer is, one line for each choice.")]
pub(super) struct AskArgs {
    #[command(flatten)]
    caller: Caller,
    /// The tool, when it is not the shell
    #[arg(long, default_value = "shell_exec", value_name = "NAME")]
    tool: String,
    /// The tool's arguments, as JSON
    #[arg(long, value_name = "JSON", conflicts_with_all = ["command", "question"])]
    args: Option<String>,
    /// Ask for several commands ahead, each a word after `--`: to run once each within this time
    #[arg(long, value_name = "TIME", value_parser = when::seconds, conflicts_with_all = [
        "args", "tool", "question", "token", "accept_edits",
    ])]
    budget: Option<u64>,
    /// A question to a person, instead of a call
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["command", "tool"])]
    question: Option<String>,
    /// A choice of the question; repeat it. Without any, free text is asked for
    #[arg(long, value_name = "LABEL", requires = "question")]
    option: Vec<String>,
    /// Several choices may be taken
    #[arg(long, requires = "question")]
    multi: bool,
    /// Hand it in and leave; exit 8 when it waits for a person
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
    /// Wait no longer than this, then leave it open and exit 8
    #[arg(long, value_name = "TIME", value_parser = when::seconds)]
    wait: Option<u64>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    /// Print the execution token of what a person approved, for `countersign verify`
    #[arg(long, conflicts_with_all = ["json", "question", "no_wait", "wait"])]
    token: bool,
    /// Read calls as lines of JSON on stdin and write their decisions as lines on stdout
    #[arg(long, conflicts_with_all = [
        "json", "command", "args", "tool", "question", "no_wait", "wait", "accept_edits", "token",
    ])]
    jsonl: bool,
    /// Take a changed call too: then `verdict` is "edited", and only `updated_input` may run
    #[arg(long, requires = "json", conflicts_with = "question")]
    accept_edits: bool,
    /// The command, after --
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) async fn run(context: &Context, args: AskArgs) -> Result<Exit> {
    let client = context.client()?;
    if args.jsonl {
        return ask_lines::run(client, args.caller).await;
    }
    let (json, no_wait, longest, edits) = (args.json, args.no_wait, args.wait, args.accept_edits);
    let token = args.token;
    let mut call = call(args)?;
    if edits {
        call.accepts.push(Accepts::UpdatedInput);
    }
    if no_wait {
        return Ok(match client.submit_and_leave(&call).await? {
            Submitted::Decided(decided) => print(&call, &decided, json)?,
            Submitted::Ask(id) => pending(&id, json)?,
        });
    }
    if let Some(longest) = longest {
        return wait_at_most(&client, &call, Duration::from_secs(longest), json).await;
    }
    let mut signals = InterruptSignals::new()?;
    let waited = asking::wait(&client, &call, CardShown::Always, &mut signals, |id| {
        say::aside(&format!("waiting for an answer to {id}; Ctrl-C cancels it"));
    })
    .await?;
    match waited {
        Some(decided) if token => print_token(&client, &decided).await,
        Some(decided) => print(&call, &decided, json),
        None => Ok(Exit::Interrupted),
    }
}

/// Submits without attaching as the waiting caller, so that the ask stays open when the wait is
/// over.
async fn wait_at_most(client: &Client, call: &Call, longest: Duration, json: bool) -> Result<Exit> {
    let mut signals = InterruptSignals::new()?;
    let id = match client.submit_and_leave(call).await? {
        Submitted::Decided(decided) => return print(call, &decided, json),
        Submitted::Ask(id) => id,
    };
    say::aside(&format!("waiting for an answer to {id}; Ctrl-C leaves it open"));
    tokio::select! {
        decided = asking::shown(client, call, CardShown::Always, &id) => {
            print(call, &decided?, json)
        }
        () = tokio::time::sleep(longest) => pending(&id, json),
        () = signals.any() => {
            say::aside(&format!("Still open: {id} can be answered until its deadline."));
            Ok(Exit::Interrupted)
        }
    }
}

fn call(args: AskArgs) -> Result<Call> {
    let AskArgs { caller, tool, args, question, option, multi, command, budget, .. } = args;
    if let Some(for_s) = budget {
        let shell = |command| {
            let (tool, args) = ("shell_exec".to_owned(), json!({ "command": command }));
            BudgetCall { tool, args, cwd: None }
        };
        let calls = command.into_iter().map(shell).collect();
        let call = caller.call(budget::TOOL, Value::Null)?;
        return Ok(Call { budget: Some(Budget { for_s, calls }), ..call });
    }
    if let Some(question) = question {
        let options =
            option.into_iter().map(|label| Choice { label, description: None, preview: None });
        let question =
            Question { question, header: None, multi_select: multi, options: options.collect() };
        let mut call = caller.call("ask_user", json!({}))?;
        call.questions.push(question);
        return Ok(call);
    }
    let args = match args {
        Some(json) => exact_json::from_str(&json).context("--args is not JSON")?,
        None if command.is_empty() => {
            let say = "say what to ask for: -- CMD, --args JSON or --question TEXT";
            return Err(Misused(say.into()).into());
        }
        None => caller::shell_or_text(&command)?,
    };
    caller.call(&tool, args)
}

fn print(call: &Call, decided: &Decided, json: bool) -> Result<Exit> {
    if json {
        say::json(&asking::as_json(decided))?;
        return Ok(asking::exit(decided));
    }
    match answers(call, decided) {
        Some(lines) => {
            // To stderr, so that a script reads nothing but the answer from stdout.
            say::aside(&asking::sentence(decided));
            lines.iter().try_for_each(|line| say::answer(line))?;
        }
        None => say::out(&asking::sentence(decided))?,
    }
    Ok(asking::exit(decided))
}

/// Prints nothing but the token to stdout; nothing at all where there is none.
async fn print_token(client: &Client, decided: &Decided) -> Result<Exit> {
    say::aside(&asking::sentence(decided));
    match (decided.decision, &decided.ask) {
        (Decision::Approve, Some(id)) => say::out(&client.execution_token(id).await?.token)?,
        (Decision::Approve, None) => {
            say::aside("Nobody was asked, so there is no token: what the rules allow needs none.");
        }
        (Decision::Deny | Decision::Answer | Decision::Edit, _) => {}
    }
    Ok(asking::exit(decided))
}

/// A person's answer to the question, one line for each choice.
fn answers(call: &Call, decided: &Decided) -> Option<Vec<String>> {
    let Ending::Answered(answer) = &decided.ending else { return None };
    match answer.answers.as_ref()?.get(&call.questions.first()?.question)? {
        // A line per label, so that a shell can read them in a loop.
        Value::Array(labels) => {
            Some(labels.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        said => said.as_str().map(|text| vec![text.to_owned()]),
    }
}

fn pending(id: &str, json: bool) -> Result<Exit> {
    if json {
        say::json(&json!({"verdict": "ask", "ask": id, "state": "open"}))?;
    } else {
        say::out(&format!("{id} waits for an answer"))?;
    }
    Ok(Exit::Pending)
}
