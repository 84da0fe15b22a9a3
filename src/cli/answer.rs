//! `countersign approve`, `deny`, `answer` and `undo`: a person answers from the command line.

use super::{Context, Exit, Misused, complete, prompt::confirmed, say};
use anyhow::Result;
use countersign_bridge::card::terminal;
use countersign_client::{Client, ClientError};
use countersign_domain::{
    Decision, Scope,
    edit::editable,
    question::Question,
    wire::{AnswerReply, AnswerRequest, AskState, AskView, EditView},
};
use countersign_port::Tone;
use serde_json::{Map, Value};
use similar::TextDiff;

#[derive(Debug, clap::Args)]
pub(super) struct ApproveArgs {
    /// The ask, as `countersign pending` shows it; its first letters are enough, and where one ask
    /// waits, it needs none. Of one that has expired the next try is approved
    #[arg(value_name = "ID", add = complete::asks())]
    ask: Option<String>,
    /// What it covers: once, session, always, always_prefix (commands that begin alike), exact
    /// (this very call), or a time such as 10m
    #[arg(long, default_value = "once")]
    scope: Scope,
    /// With `--scope always`: which of its rules are stored, by their places, such as 1,3
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    rules: Option<Vec<usize>>,
    /// A note for the agent, with an approval of this call alone
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Approve a critical call without being asked again
    #[arg(long, requires = "ask")]
    yes: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DenyArgs {
    /// The ask, as `countersign pending` shows it; its first letters are enough, and where one ask
    /// waits, it needs none
    #[arg(value_name = "ID", add = complete::asks())]
    ask: Option<String>,
    /// Why, in words for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Make the agent end its turn
    #[arg(long)]
    stop: bool,
    /// Make the agent leave out this call alone and go on, where a denial ends its turn otherwise
    #[arg(long, conflicts_with_all = ["stop", "explain"])]
    skip: bool,
    /// Make the agent explain itself and not try again
    #[arg(long, conflicts_with = "stop")]
    explain: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: an ask with two questions, the second with several choices:
  countersign answer a1b2 SQLite Lint,Docs
A command of an agent, changed; what changes is shown before it is approved:
  countersign answer a1b2 --edit 'git push --dry-run'")]
pub(super) struct AnswerArgs {
    /// The ask, as `countersign pending` shows it; its first letters are enough
    #[arg(value_name = "ID", add = complete::asks())]
    ask: String,
    /// One answer for each question, in order: an option, or options with commas between where
    /// several may be taken
    #[arg(value_name = "ANSWER", required_unless_present = "edit")]
    answers: Vec<String>,
    /// Send your own words where a question has options
    #[arg(long)]
    text: bool,
    /// Approve this text instead of the agent's: a command, or a file's new text
    #[arg(long, value_name = "TEXT", conflicts_with = "answers")]
    edit: Option<String>,
    /// Approve the change without being asked
    #[arg(long, requires = "edit")]
    yes: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn approve(context: &Context, args: ApproveArgs) -> Result<Exit> {
    let client = context.approver()?;
    let seen = meant(&client, args.ask.as_deref()).await?;
    let critical = is_critical(&seen);
    // SECURITY: what was not named is shown first: another ask may have taken its place.
    if args.ask.is_none() || critical && !args.yes {
        say::aside_lines(&card_text(&seen));
        let (question, otherwise) = match &args.ask {
            Some(_) => ("Approve this critical call?", "read the call above, then add --yes"),
            None => ("Approve this call?", "read the call above, then approve it by its id"),
        };
        if !confirmed(question, otherwise)? {
            say::aside("Nothing is approved.");
            return Ok(Exit::Pending);
        }
    }
    let scope = Some(args.scope);
    let rules = args.rules;
    let reason = args.note;
    // What has expired gets a late yes.
    let next_try = seen.state == AskState::Expired;
    let approve = AnswerRequest::new(Decision::Approve);
    let answer = AnswerRequest { scope, rules, reason, next_try, ..approve };
    report_with_title(&seen, &client.answer(&seen.id, &answer).await?, args.json)
}

/// The ask that is named, or the only one that waits.
async fn meant(client: &Client, id: Option<&str>) -> Result<AskView> {
    if let Some(id) = id {
        has_id(id)?;
        return Ok(seen(client, id).await?);
    }
    let open = client.cards().await?;
    match open.as_slice() {
        [] => Err(Misused("nothing waits for an answer".into()).into()),
        [only] => Ok(seen(client, &only.id).await?),
        several => {
            let ids = several.iter().take(FEW_IDS).map(|ask| say::literal(&ask.id));
            let rest = if several.len() > FEW_IDS { ", …" } else { "" };
            let why = format!(
                "{} asks wait, so name one: {}{rest}; `countersign pending` shows them",
                several.len(),
                ids.collect::<Vec<_>>().join(", ")
            );
            Err(Misused(why).into())
        }
    }
}

/// How many ids an error names.
const FEW_IDS: usize = 5;

/// The ask with its card. A token that may neither read nor answer it is told the latter.
async fn seen(client: &Client, id: &str) -> Result<AskView, ClientError> {
    let read = client.card(id).await;
    if let Err(ClientError::Rejected(_)) = &read {
        // SECURITY: this answers nothing, whoever sends it: an approval has no digest.
        let digest = Some(String::new());
        let nothing = AnswerRequest { digest, ..AnswerRequest::new(Decision::Approve) };
        if let Err(refused @ ClientError::Refused(_)) = client.answer(id, &nothing).await {
            return Err(refused);
        }
    }
    read
}

/// Whether one step must not approve it.
// FAIL-CLOSED: a card that cannot be read, as that of another version, may be a critical one's.
fn is_critical(ask: &AskView) -> bool {
    let open = ask.state == AskState::Open;
    open && terminal::of(ask.clone()).is_none_or(|card| card.tone == Tone::Critical)
}

/// What somebody reads before they approve it.
fn card_text(ask: &AskView) -> String {
    match terminal::of(ask.clone()) {
        Some(card) => terminal::draw(&card),
        None => format!("{}\n{}", say::literal(&ask.call.tool), say::literal(&ask.why)),
    }
}

pub(super) async fn deny(context: &Context, args: DenyArgs) -> Result<Exit> {
    let DenyArgs { ask, reason, stop, skip, explain, json } = args;
    let deny = AnswerRequest::new(Decision::Deny);
    let answer = AnswerRequest { reason, stop, skip, explain, ..deny };
    let client = context.approver()?;
    let seen = meant(&client, ask.as_deref()).await?;
    report_with_title(&seen, &client.answer(&seen.id, &answer).await?, json)
}

#[derive(Debug, clap::Args)]
pub(super) struct UndoArgs {
    /// The ask; its first letters are enough
    #[arg(value_name = "ID")]
    ask: String,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn undo(context: &Context, args: UndoArgs) -> Result<Exit> {
    has_id(&args.ask)?;
    let reply = context.approver()?.undo(&args.ask).await?;
    report(&reply, args.json)
}

pub(super) async fn answer(context: &Context, args: AnswerArgs) -> Result<Exit> {
    if let Some(text) = &args.edit {
        return propose(context, &args.ask, text, args.yes, args.json).await;
    }
    has_id(&args.ask)?;
    let client = context.approver()?;
    let ask = client.ask(&args.ask).await?;
    let answers = Some(by_question(&ask.call.questions, &args.answers, args.text)?);
    let answer = AnswerRequest { answers, ..AnswerRequest::new(Decision::Approve) };
    report(&client.answer(&ask.id, &answer).await?, args.json)
}

fn has_id(id: &str) -> Result<()> {
    if id.trim().is_empty() {
        Err(Misused("the ask's id is empty; `countersign pending` shows them".into()).into())
    } else {
        Ok(())
    }
}

/// The outcome, behind the first line of what was answered, which is for people alone.
fn report_with_title(ask: &AskView, reply: &AnswerReply, json: bool) -> Result<Exit> {
    if !json && let Some(card) = terminal::of(ask.clone()) {
        say::aside_lines(&say::literal(&card.title));
    }
    report(reply, json)
}

fn report(reply: &AnswerReply, json: bool) -> Result<Exit> {
    say::reply(reply, &reply.message, json)?;
    // A vote counts, and the ask waits for others. Else somebody was first, or it was too late.
    Ok(match (reply.applied, reply.state) {
        (true, _) => Exit::Good,
        (false, AskState::Open) => Exit::Pending,
        (false, _) => Exit::Fault,
    })
}

fn answers(count: usize) -> String {
    if count == 1 { "1 answer is".to_owned() } else { format!("{count} answers are") }
}

/// The given answers under their questions' own texts.
fn by_question(
    questions: &[Question],
    given: &[String],
    words: bool,
) -> Result<Map<String, Value>> {
    if questions.len() != given.len() {
        let say = match questions.len() {
            0 => "it asks no questions; approve or deny it".to_owned(),
            1 => format!(
                "it asks one question, and {} answers are given: quote them, or put commas between \
                 options",
                given.len()
            ),
            count => format!("it asks {count} questions, and {} given", answers(given.len())),
        };
        return Err(Misused(say).into());
    }
    let answer = |(question, given): (&Question, &String)| {
        Ok((question.question.clone(), one(question, given, words)?))
    };
    questions.iter().zip(given).map(answer).collect()
}

/// An option, or several where several may be taken; words only where there are no options or they
/// are wanted.
fn one(question: &Question, given: &str, words: bool) -> Result<Value> {
    let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
    let parts: Vec<&str> = given.split(',').map(str::trim).collect();
    if question.multi_select && parts.iter().all(|part| labels.contains(part)) {
        return Ok(parts.into());
    }
    if words || labels.is_empty() || labels.contains(&given) {
        return Ok(given.into());
    }
    let options: Vec<String> = labels.iter().map(|label| say::literal(label)).collect();
    Err(Misused(format!(
        "`{}` is not an option; the options are: {}. Add --text to send your own words",
        say::literal(given),
        options.join(", ")
    ))
    .into())
}

/// Proposes the text, shows what it changes, and approves it where that is wanted.
async fn propose(context: &Context, id: &str, text: &str, yes: bool, json: bool) -> Result<Exit> {
    let client = context.approver()?;
    let ask = client.ask(id).await?;
    let propose =
        AnswerRequest { edit: Some(text.to_owned()), ..AnswerRequest::new(Decision::Edit) };
    let proposed = client.answer(&ask.id, &propose).await?;
    let Some(edit) = proposed.edit.clone() else { return report_edit(&proposed, json) };
    say::aside_lines(&shown_change(editable(&ask.call).unwrap_or_default(), text, &edit));
    if !yes && !confirmed("Approve this change?", "read the change above, then add --yes")? {
        say::aside("Nothing is approved. The change stays proposed on the card.");
        return Ok(Exit::Pending);
    }
    let approve = AnswerRequest { digest: Some(edit.digest), ..AnswerRequest::new(Decision::Edit) };
    report_edit(&client.answer(&ask.id, &approve).await?, json)
}

fn report_edit(reply: &AnswerReply, json: bool) -> Result<Exit> {
    say::reply(reply, &reply.message, json)?;
    Ok(if reply.applied { Exit::Good } else { Exit::Fault })
}

/// The change line by line, with what it touches.
fn shown_change(old: &str, new: &str, edit: &EditView) -> String {
    let diff = TextDiff::from_lines(old, new).unified_diff().context_radius(2).to_string();
    let mut lines: Vec<String> = diff.lines().map(say::literal).collect();
    lines.extend(edit.effects.iter().map(|effect| format!("touches {}", say::literal(effect))));
    if edit.critical {
        lines.push("The changed call is critical.".to_owned());
    }
    lines.push(format!("digest {}", say::literal(&edit.digest)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    fn questions() -> Vec<Question> {
        let options = json!([{"label": "Lint"}, {"label": "Docs"}]);
        let questions = json!([
            {"question": "One?", "multiSelect": false, "options": options},
            {"question": "Many?", "multiSelect": true, "options": options}]);
        serde_json::from_value(questions).unwrap()
    }

    #[test]
    fn answers_go_under_their_questions_as_choices_or_as_words() {
        let given = |one: &str, many: &str, words: bool| {
            by_question(&questions(), &[one.into(), many.into()], words).map(Value::Object)
        };
        let choices = json!({"One?": "Lint", "Many?": ["Lint", "Docs"]});
        assert_eq!(given("Lint", "Lint, Docs", false).unwrap(), choices);
        let words = json!({"One?": "Lint,Docs", "Many?": "Lint, or not"});
        assert_eq!(given("Lint,Docs", "Lint, or not", true).unwrap(), words);
        let refused = given("lint", "Docs", false).unwrap_err().to_string();
        let wanted = "`lint` is not an option; the options are: Lint, Docs. Add --text to send your \
                      own words";
        assert_eq!(refused, wanted);
    }

    #[test]
    fn a_wrong_number_of_answers_is_refused() {
        let refused = by_question(&questions(), &["Lint".into()], false).unwrap_err().to_string();
        assert_eq!(refused, "it asks 2 questions, and 1 answer is given");
        let words = ["some".into(), "where".into()];
        let one = by_question(questions().get(..1).unwrap(), &words, true).unwrap_err().to_string();
        assert_eq!(
            one,
            "it asks one question, and 2 answers are given: quote them, or put commas between options"
        );
        let none = by_question(&[], &["x".into()], false).unwrap_err().to_string();
        assert_eq!(none, "it asks no questions; approve or deny it");
    }
}
