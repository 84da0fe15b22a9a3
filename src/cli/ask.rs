//! `countersign ask`: asks whether a command may run, or asks a person a question; with `--jsonl`
//! one process for all calls of a program.

use super::{
    Context, Exit,
    asking::{self, CardShown, as_json},
    caller::{Caller, GivenCall},
    lines::{LineWriter, of_stdin},
    open_calls::{CallNews, OpenCalls, WithoutDaemon},
    say,
    signals::Signals,
    when,
};
use anyhow::Result;
use countersign_client::{Client, Decided, Ending, Submitted};
use countersign_domain::{exact_json, wire::CancelReason};
use countersign_gate::{
    ask::{
        Decision,
        budget::{self, Budget, BudgetCall},
    },
    call::{Accepts, Call},
    question::{Choice, Question},
};
use countersign_tokens::ids;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, os::unix::process::parent_id, time::Duration};
use tokio::time::interval;

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
    #[command(flatten)]
    call: GivenCall,
    /// Ask for several commands ahead, each a word after `--`: to run once each within this time
    #[arg(long, value_name = "TIME", value_parser = when::seconds, conflicts_with_all = [
        "args", "tool", "question", "token", "accept_edits",
    ])]
    budget: Option<u64>,
    /// A question to a person, instead of a call
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["command", "tool", "args"])]
    question: Option<String>,
    /// A choice of the question; repeat it. Without any, free text is asked for
    #[arg(long, value_name = "LABEL", requires = "question")]
    option: Vec<String>,
    /// Several options may be chosen
    #[arg(long, requires = "question")]
    multi: bool,
    /// Submit it and leave; exit 8 when it waits for a person
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
    /// Accept an edited call too: then `verdict` is "edited", and only `updated_input` may run
    #[arg(long, requires = "json", conflicts_with = "question")]
    accept_edits: bool,
}

pub(super) async fn run(context: &Context, args: AskArgs) -> Result<Exit> {
    let client = context.client()?;
    if args.jsonl {
        return run_lines(client, args.caller).await;
    }
    let AskArgs { json, no_wait, wait: longest, accept_edits: edits, token, .. } = args;
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
    let mut signals = Signals::that_interrupt()?;
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
    let mut signals = Signals::that_interrupt()?;
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
    let AskArgs { caller, call: given, question, option, multi, budget, .. } = args;
    if let Some(for_s) = budget {
        let shell = |command| {
            let tool = "shell_exec".to_owned();
            let args = json!({ "command": command });
            BudgetCall { tool, args, cwd: None }
        };
        let calls = given.command.into_iter().map(shell).collect();
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
    let otherwise = "nothing to ask for: give -- CMD, --args JSON or --question TEXT";
    caller.call(&given.tool, given.args(otherwise)?)
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
            say::aside("The rules allow it, so nobody was asked and there is no token.");
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

/// How often it is seen whether the program that started us is still there.
const LOOK: Duration = Duration::from_secs(2);

/// The calls of one program.
struct AskLines {
    /// What every call has that does not say otherwise.
    call: Call,
    calls: OpenCalls,
    /// The program's name of each open call, by its key.
    open: HashMap<String, Value>,
    out: LineWriter,
}

async fn run_lines(client: Client, caller: Caller) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = Signals::that_interrupt()?;
    let mut lines = AskLines {
        call: caller.call("", Value::Null)?,
        calls: OpenCalls::new(client, WithoutDaemon::Fails),
        open: HashMap::new(),
        out: LineWriter::new(tokio::io::stdout()),
    };
    let exit = tokio::select! {
        () = lines.serve() => Exit::Good,
        () = signals.any() => Exit::Interrupted,
    };
    lines.calls.close(CancelReason::Aborted).await;
    lines.out.finish().await;
    Ok(exit)
}

impl AskLines {
    /// Serves until stdin has ended and everything is decided, or the program is gone.
    async fn serve(&mut self) {
        let mut input = of_stdin();
        let mut ended = false;
        let parent = parent_id();
        let mut ticks = interval(LOOK);
        while !ended || !self.open.is_empty() {
            tokio::select! {
                line = input.recv(), if !ended => match line {
                    Some(line) if line.trim_ascii().is_empty() => {}
                    Some(line) => self.line(&line),
                    None => ended = true,
                },
                news = self.calls.next() => self.news(news),
                () = self.out.closed() => return,
                // A program that was killed closes its pipes, and reads no answer.
                _ = ticks.tick() => if parent_id() != parent { return },
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        let mut fields = match exact_json::from_slice::<Map<String, Value>>(line) {
            Ok(fields) => fields,
            Err(error) => {
                let why = format!("this line is not a JSON object: {error}");
                return self.say(&json!({ "id": null, "error": why }));
            }
        };
        if let Some(id) = fields.get("cancel") {
            let key = self.open.iter().find(|(_, open)| *open == id).map(|(key, _)| key.clone());
            match key {
                Some(key) => {
                    self.open.remove(&key);
                    self.calls.take_back(&key, CancelReason::Aborted);
                    self.say(&json!({ "id": id, "state": "cancelled" }));
                }
                None => self.say(&json!({ "id": id, "error": "no such call is open" })),
            }
            return;
        }
        let id = fields.remove("id").unwrap_or_default();
        // Under an id that stands for two calls, one's approval would be read as the other's.
        if !id.is_null() && self.open.values().any(|open| *open == id) {
            let why = "a call with this `id` is open; this one is not asked about";
            return self.say(&json!({ "id": null, "refused": id, "error": why }));
        }
        match self.read(fields) {
            Ok(call) => {
                let key = call.key.clone().unwrap_or_default();
                self.open.insert(key.clone(), id);
                self.calls.open(key, call);
            }
            Err(why) => self.say(&json!({ "id": id, "error": why })),
        }
    }

    /// A call as `POST /v1/calls` takes it; the options of the command fill in what is
    /// missing.
    fn read(&self, mut fields: Map<String, Value>) -> Result<Call, String> {
        if !fields.contains_key("tool") && !fields.contains_key("questions") {
            return Err("`tool` is missing; it names what the call would run".to_owned());
        }
        let Ok(Value::Object(defaults)) = serde_json::to_value(&self.call) else {
            return Err("the options of this command make no call".to_owned());
        };
        for (name, value) in defaults {
            if name != "key" && name != "args" {
                fields.entry(name).or_insert(value);
            }
        }
        fields.entry("key").or_insert_with(|| json!(ids::nonce()));
        if fields.get("tool").and_then(Value::as_str) == Some("") {
            fields.insert("tool".to_owned(), json!("ask_user"));
        }
        let call: Call = serde_json::from_value(Value::Object(fields))
            .map_err(|error| format!("this is not a call: {error}"))?;
        call.check().map_err(|wrong| wrong.to_string())?;
        if call.key.as_ref().is_some_and(|key| self.open.contains_key(key)) {
            Err("a call with this `key` is open already".to_owned())
        } else {
            Ok(call)
        }
    }

    fn news(&mut self, news: CallNews) {
        match news {
            CallNews::Opened(key, ask) => {
                if let Some(id) = self.open.get(&key) {
                    self.say(&json!({ "id": id, "verdict": "ask", "ask": ask, "state": "open" }));
                }
            }
            CallNews::Decided(key, decided) => {
                let Some(id) = self.open.remove(&key) else { return };
                let mut said = Map::from_iter([("id".to_owned(), id)]);
                // FAIL-CLOSED: an error has no verdict.
                match (*decided).as_ref().map(as_json) {
                    Ok(decided) => said.extend(decided.as_object().cloned().unwrap_or_default()),
                    Err(error) => said.extend([("error".to_owned(), json!(error.to_string()))]),
                }
                self.say(&Value::Object(said));
            }
        }
    }

    fn say(&self, line: &Value) {
        self.out.send(format!("{line}\n").into_bytes());
    }
}
