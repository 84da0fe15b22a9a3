//! A call as an agent submits it.

use super::{
    budget::Budget,
    question::{self, Choice, Question},
};
use countersign_policy::{
    ProfileFacts, argv,
    call::level,
    tools::{Kind, kind_of},
};
use countersign_port::{line, visible};
use countersign_tokens::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call, or a question, that an agent wants ruled on. The JSON of `POST /v1/calls`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The caller's idempotency key: the same key of one agent and session is the same ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Who asks, such as `claude-code`.
    pub agent: String,
    /// One conversation of it.
    pub session: String,
    /// The process or machine that would run the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The machine's name, as the agent's side tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The tool's name, as the agent calls it.
    pub tool: String,
    /// Exactly what would be executed.
    #[serde(default)]
    pub args: Value,
    /// The tool's category, for profiles that rule on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The tool's tier, for profiles that rule on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The tool's own wish to be prompted for.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Value>,
    /// The tool's own policy, for profiles that rule on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// The name of the user's policy for it, where that is not the tool's.
    #[serde(default, rename = "policyKey", skip_serializing_if = "Option::is_none")]
    pub policy_key: Option<String>,
    /// How far the agent's own host trusts the person it works for; `None` where that is its owner.
    #[serde(default, deserialize_with = "level", skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// The mode that the agent itself is in, such as `plan`. Where it may only read, no rule and no
    /// grant lets it do more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// Why the agent wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the agent says it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a person said to the agent last, as the agent's side tells it. People read it on the
    /// card; nothing is decided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_said: Option<String>,
    /// What waits behind this call in the same batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_remaining: Option<Batch>,
    /// Questions to a person; their answers are the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Short for one question with these options; its text is `description`, or `reason`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// How long a person has, seconds; the policy's timeout where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
    /// How long its caller waits for the answer at most, seconds: nobody is asked for longer,
    /// whatever `expires_in_s` and the policy say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_s: Option<u64>,
    /// Answers that the caller can carry out beside a plain yes and no; others are never given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<Accepts>,
    /// Handed back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// What the agent calls itself, where its own token names it. The daemon sets it; a caller
    /// cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// Calls that are asked for ahead, to run once each within a time; the tool is `budget` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The verdict against which it appeals: a machine that judges calls in a person's place has
    /// blocked it. The ask is then whether exactly this call may run anyway, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appeal: Option<Appeal>,
    /// Another judge stands behind this one, such as an agent's own: people are asked only where a
    /// rule asks, and what no rule denies is left to that judge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rules_only: bool,
    /// What is at the path of a file that it writes whole, as the agent's side tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Existing>,
    /// The owner of its session. The daemon sets it from the request's handle; a caller cannot.
    #[serde(skip)]
    pub owner: Option<Owner>,
}

/// The name in a call's `meta` under which its agent says that its own dialog comes only once the
/// caller waits no longer.
pub const DIALOG_WAITS: &str = "dialog_waits";

/// The verdict of a machine, against which a call appeals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Appeal {
    /// Which machine, for people: `Claude Code's auto mode`.
    pub against: String,
    /// Why it blocked the call, in its own words; empty where it came to no verdict.
    pub reason: String,
}

impl Appeal {
    /// What the machine did to `what`, without a full stop.
    #[must_use]
    pub fn sentence(&self, what: &str) -> String {
        let Self { against, reason } = self;
        if reason.is_empty() {
            format!("{against} could not check {what}, so it is blocked")
        } else {
            format!("{against} blocked {what}: {reason}")
        }
    }
}

/// An answer that a caller can carry out beside a plain yes and no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accepts {
    /// A denial that ends the agent's turn: `answer.stop`.
    Stop,
    /// An approval with other arguments: `verdict: "edited"` and `answer.updated_input`.
    UpdatedInput,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// The calls of a batch that come after this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Batch {
    /// How many.
    Count(u32),
    /// Which.
    Calls(Vec<Behind>),
}

/// A call of a batch that comes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Behind {
    /// Its tool.
    pub tool: String,
    /// What it would execute, or the JSON text of it.
    #[serde(default, alias = "args", skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
}

impl Call {
    /// A call of a tool, with all other fields empty.
    #[must_use]
    pub fn new(
        agent: impl Into<String>,
        session: impl Into<String>,
        tool: impl Into<String>,
        args: Value,
    ) -> Self {
        let agent = agent.into();
        let session = session.into();
        let tool = tool.into();
        Self { agent, session, tool, args, ..Self::default() }
    }

    /// Whether it shows a plan, for a person to let the agent go on with it.
    #[must_use]
    pub fn is_plan(&self) -> bool {
        matches!(self.tool.as_str(), "ExitPlanMode" | "exit_plan_mode")
    }

    /// Converts the ways in which questions can be written (`questions`, `options`, and the
    /// arguments of Claude Code's AskUserQuestion) to `questions`.
    ///
    /// # Errors
    /// When questions come with a tool that does more than ask, or cannot be parsed as questions.
    pub fn spell_out(mut self) -> Result<Self, Malformed> {
        if self.budget.is_some() {
            return self.spelled_out_ahead();
        }
        let asks = kind_of(&self.tool) == Kind::Question;
        let given =
            [("questions", self.questions.is_empty()), ("options", self.options.is_empty())];
        let given: Vec<&str> =
            given.iter().filter(|(_, none)| !none).map(|(name, _)| *name).collect();
        match given.as_slice() {
            // SECURITY: a card shows a call's questions instead of what the call would run.
            [name, ..] if !asks => {
                return Err(Malformed(format!(
                    "`{name}` belongs to tools that only ask, such as `ask_user`, and not to \
                     `{}`; submit the question as a call of its own",
                    visible(&self.tool)
                )));
            }
            [_, _, ..] => {
                return Err(Malformed("give `questions` or `options`, not both".into()));
            }
            ["questions"] => {}
            ["options"] => {
                let words = self.description.as_ref().or(self.reason.as_ref());
                let Some(question) = words.cloned() else {
                    return Err(Malformed(
                        "`options` needs a `description` that says what is asked".into(),
                    ));
                };
                let options = std::mem::take(&mut self.options);
                self.questions =
                    vec![Question { question, header: None, multi_select: false, options }];
            }
            _ if self.tool == "AskUserQuestion" => {
                let questions = self.args.get("questions").cloned().unwrap_or_default();
                self.questions = serde_json::from_value(questions).map_err(|error| {
                    Malformed(format!("`args.questions` is not a list of questions: {error}"))
                })?;
                if self.questions.is_empty() {
                    return Err(Malformed(
                        "`args.questions` is empty; there is nothing to ask".into(),
                    ));
                }
            }
            _ => {}
        }
        Ok(self)
    }

    /// Checks what the types do not express.
    ///
    /// # Errors
    /// A sentence that names the field and the accepted values.
    pub fn check(&self) -> Result<(), Malformed> {
        for (field, name, most) in [
            ("agent", Some(&self.agent), 100),
            ("session", Some(&self.session), 200),
            ("tool", Some(&self.tool), 200),
            ("key", self.key.as_ref(), 200),
            ("host", self.host.as_ref(), 255),
            ("worker", self.worker.as_ref(), 255),
            ("category", self.category.as_ref(), 100),
            ("tier", self.tier.as_ref(), 100),
            ("policyKey", self.policy_key.as_ref(), 200),
            ("requester", self.requester.as_ref(), 100),
            ("agent_mode", self.agent_mode.as_ref(), 100),
        ] {
            let Some(name) = name else { continue };
            is_name(field, name, most)?;
        }
        if self.cwd.as_ref().is_some_and(|cwd| cwd.trim().is_empty()) {
            return Err(Malformed(
                "`cwd` is empty; it names the folder that the call runs in".into(),
            ));
        }
        for (field, text, most) in [
            ("cwd", self.cwd.as_ref(), 4096),
            ("reason", self.reason.as_ref(), 10_000),
            ("description", self.description.as_ref(), 10_000),
            ("person_said", self.person_said.as_ref(), 10_000),
        ] {
            text.map_or(Ok(()), |text| is_no_longer(field, text, most))?;
        }
        if let Some(Appeal { against, reason }) = &self.appeal {
            is_name("appeal.against", against, 100)?;
            is_no_longer("appeal.reason", reason, 10_000)?;
            if self.budget.is_some() || !self.questions.is_empty() {
                let only =
                    "`appeal` belongs to a call that would run, not to questions or a budget";
                return Err(Malformed(only.into()));
            }
        }
        // INVARIANT: every accepted call can be read back from the store.
        let behind = match &self.batch_remaining {
            Some(Batch::Calls(calls)) => calls.as_slice(),
            Some(Batch::Count(_)) | None => &[],
        };
        let values = [
            ("args", Some(&self.args)),
            ("override", self.overrides.as_ref()),
            ("policy", self.policy.as_ref()),
            ("meta", self.meta.as_ref()),
        ];
        let behind = behind.iter().map(|call| ("batch_remaining", Some(&call.arguments)));
        for (field, value) in values.into_iter().chain(behind) {
            value.map_or(Ok(()), |value| is_within(field, value))?;
        }
        for (name, seconds) in [("expires_in_s", self.expires_in_s), ("waits_s", self.waits_s)] {
            if seconds == Some(0) {
                return Err(Malformed(format!("`{name}` is 0; a person needs at least 1 second")));
            }
        }
        self.budget.as_ref().map_or(Ok(()), |budget| budget.check(self.cwd.as_deref()))?;
        question::check(&self.questions)
    }

    /// SHA-256 over the parts of a call that decide what runs, where and for whom. The answer is
    /// bound to it, and a stored call with another digest is refused. A change of this computation
    /// would refuse every stored ask.
    #[must_use]
    pub fn digest(&self) -> String {
        let Self { agent, session, worker, cwd, tool, args, questions, .. } = self;
        // As JSON of a tuple, so that no two calls can give the same bytes with differently split
        // fields.
        let bound = serde_json::to_vec(&(agent, session, worker, cwd, tool, args, questions));
        // Texts, lists, and maps with text keys always serialize.
        countersign_tokens::sha256_hex(&bound.unwrap_or_default())
    }
}

impl Call {
    /// The digest of the same call without the words in which its agent describes it, which differ
    /// when it tries the call again; `None` where there are none.
    // SECURITY: only what a shell tool calls `description`, which nothing runs.
    #[must_use]
    pub fn digest_without_words(&self) -> Option<String> {
        let plain = self.without_words();
        (plain.args != self.args).then(|| plain.digest())
    }

    /// The same call without these words.
    #[must_use]
    pub fn without_words(&self) -> Self {
        let mut plain = self.clone();
        if kind_of(&self.tool) == Kind::Shell
            && let Value::Object(args) = &mut plain.args
        {
            args.shift_remove("description");
        }
        plain
    }

    /// The id of this very call at its agent, where the agent tells one.
    #[must_use]
    pub fn id_at_agent(&self) -> Option<&str> {
        self.meta.as_ref()?.get("tool_use_id")?.as_str()
    }

    /// The call as policy evaluates it, with exactly the arguments that would be executed. `home`
    /// is the home folder of the user who runs the agents.
    // Every field is named, so that a new one cannot be forgotten here.
    #[must_use]
    pub fn for_policy(&self, home: Option<&str>) -> countersign_policy::Call {
        let Self {
            agent,
            session,
            cwd,
            tool,
            args,
            category,
            tier,
            overrides,
            policy,
            policy_key,
            requester,
            agent_mode,
            reason,
            // The sender, its context, and texts for people; no rule reads these.
            key: _,
            worker: _,
            host: _,
            description: _,
            person_said: _,
            batch_remaining: _,
            questions: _,
            options: _,
            expires_in_s: _,
            waits_s: _,
            meta: _,
            accepts: _,
            claims: _,
            budget: _,
            appeal: _,
            rules_only: _,
            existing: _,
            owner: _,
        } = self;
        countersign_policy::Call {
            tool: tool.clone(),
            args: argv::as_text(tool, args),
            own: ProfileFacts {
                category: category.clone(),
                tier: tier.clone(),
                overrides: overrides.clone(),
                policy: policy.clone(),
                policy_key: policy_key.clone(),
                requester: requester.clone(),
            },
            agent_mode: agent_mode.clone(),
            reason: reason.clone(),
            cwd: cwd.clone(),
            home: home.map(str::to_owned),
            session: Some(session.clone()),
            agent: Some(agent.clone()),
            ..countersign_policy::Call::default()
        }
    }
}

/// The reason why a call was refused, as a sentence for its caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

/// Checks that a text has at most `most` characters.
pub(super) fn is_no_longer(field: &str, text: &str, most: usize) -> Result<(), Malformed> {
    let length = text.chars().count();
    if length <= most {
        Ok(())
    } else {
        Err(Malformed(format!("`{field}` has {length} characters; at most {most} are allowed")))
    }
}

/// The beginning of a text from outside, for a sentence about it: one line, nothing invisible.
#[must_use]
pub fn excerpt(text: &str) -> String {
    line(&text.chars().take(60).collect::<String>())
}

/// Checks a name: visible text on one line, of at most `most` characters.
///
/// # Errors
/// A sentence that names the field.
// SECURITY: names appear in log lines, within a card's own words, and in the keys of grants.
pub fn is_name(field: &str, name: &str, most: usize) -> Result<(), Malformed> {
    is_no_longer(field, name, most)?;
    if name.trim().is_empty() {
        return Err(Malformed(format!("`{field}` is empty; it names who or what asks")));
    }
    let shown = line(name);
    // `line` replaces hidden characters by visible text, so a difference is such a character.
    let odd = name.chars().zip(shown.chars()).find(|(given, shown)| given != shown);
    match odd {
        None => Ok(()),
        Some((odd, _)) => Err(Malformed(format!(
            "`{field}` holds the character U+{:04X}, which is invisible or breaks the line; a name \
             is plain text on one line",
            u32::from(odd)
        ))),
    }
}

/// The largest nesting depth. serde_json reads 127 levels, and the store wraps a call in another
/// value.
const DEEPEST: usize = 100;
/// The largest number of values in one field, including nested ones.
const MOST: usize = 200_000;

/// Checks the value of a field.
///
/// # Errors
/// A sentence that names the field and the limit.
pub(super) fn is_within(field: &str, value: &Value) -> Result<(), Malformed> {
    if is_deeper(value, DEEPEST) {
        return Err(Malformed(format!("`{field}` is nested more than {DEEPEST} levels deep")));
    }
    // Counted after the depth is known, which bounds the recursion.
    match left(value, MOST) {
        Some(_) => Ok(()),
        None => Err(Malformed(format!(
            "`{field}` holds more than {MOST} values; submit it as several calls"
        ))),
    }
}

/// Returns whether a value has more than this many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper(value, left)),
        Value::Object(values) => values.values().any(|value| is_deeper(value, left)),
        _ => false,
    }
}

/// Subtracts the number of values in this one from `most`; `None` if there are more.
fn left(value: &Value, most: usize) -> Option<usize> {
    let most = most.checked_sub(1)?;
    match value {
        Value::Array(values) => values.iter().try_fold(most, |most, value| left(value, most)),
        Value::Object(values) => values.values().try_fold(most, |most, value| left(value, most)),
        _ => Some(most),
    }
}

/// What the agent's side found at the path of a file that the call writes whole. People read it on
/// the card; no rule does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Existing {
    /// Nothing: the file is new.
    Nothing,
    /// A file, which is replaced.
    File {
        /// Its size.
        bytes: u64,
        /// Its lines, where it is a text that is small enough to be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<u64>,
    },
}

/// The owner of a session: the handle that submits its calls, and the secret that they carry.
// SECURITY: names of agents and sessions are widely known. A grant for a session covers only calls
// of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

/// What the owner of calls with an agent's own token begins with.
const TOKEN: &str = "token:";

impl Owner {
    /// The owner of calls with this handle and no secret.
    #[must_use]
    pub fn by(handle: &str) -> Self {
        Self(handle.to_owned())
    }

    /// The owner of calls with an agent's own token, by the token's random id.
    #[must_use]
    pub fn by_token(id: &str) -> Self {
        Self(format!("{TOKEN}{id}"))
    }

    /// The id of the agent's own token that these calls bring; `None` of every other handle.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.0.split(' ').next()?.strip_prefix(TOKEN)
    }

    /// The same with a session's secret, of which only the hash is stored.
    #[must_use]
    pub fn with(self, secret: &str) -> Self {
        Self(format!("{} {}", self.0, sha256_hex(secret.as_bytes())))
    }

    /// Whether calls of this owner come from the same handle as those of `other`, whatever secrets
    /// they have.
    #[must_use]
    pub fn is_of_handle(&self, other: &Self) -> bool {
        self.0.split(' ').next() == other.0.split(' ').next()
    }

    /// Wraps an owner from the store.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The owner for the store.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod extents {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_with_more_values_than_are_taken_is_refused_by_name_and_none_is_left_out() {
        let too_many = Err(Malformed(
            "`args` holds more than 200000 values; submit it as several calls".into(),
        ));
        // The list itself is a value too.
        let list = |values: usize| json!(vec![0; values]);
        assert_eq!(is_within("args", &list(MOST - 1)), Ok(()));
        assert_eq!(is_within("args", &list(MOST)), too_many);
        let keys = |keys: usize| (0..keys).map(|n| (n.to_string(), Value::Null)).collect();
        assert_eq!(is_within("args", &Value::Object(keys(MOST - 1))), Ok(()));
        assert_eq!(is_within("args", &Value::Object(keys(MOST))), too_many);
        let spread = json!({ "a": list(MOST / 2), "b": [list(MOST / 2)] });
        assert_eq!(is_within("args", &spread), too_many);
    }
}
