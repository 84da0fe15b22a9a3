//! Grants: made by an answer or saved by a person, and kept in the store; what they cover, and how
//! often they let calls run. Where the profile's system writes Always to its own file (molf), its
//! rule is written there too, and taken out again.

use super::{
    ApproverError, Gate, Policy, SubmitError, Workers,
    approvers::{Approver, Stranger, Who, person},
    ask::{Answer, Ask, By, Decision, Scope},
    budgets,
    call::Call,
    to_the_end,
};
use countersign_domain::GrantScope;
use countersign_policy::{
    Rule, Rules, Verdict,
    argument_names::{COMMANDS, FILES, URLS},
    tools::canonical,
    tools::{CATEGORY, may_be_granted},
};
use countersign_port::{brief, line, locked};
use countersign_profiles::{GrantLifetime, Grants, Prefix};
use countersign_store::{Grant, GrantUse, Store, StoreError};
use countersign_tokens::clock;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What a saved rule has instead of an agent, where grants are listed.
const MAKER: &str = "the Rules page";
const SHELL: &str = "shell_exec";
pub(super) const NAMELESS: &str = "Only people who are signed in by name save rules ([[people]] in the \
                        config, then /login to the bot). Add the line to the rules file instead.";
pub(super) const ANSWER_RULES: &str = "The config has answer rules, and a saved rule would answer alone for \
                            the people whom they ask. Add the line to the rules file instead.";
pub(super) const PROFILE: &str = "Rules can be saved with the profile `standard` only.";
pub(super) const ALLOWS_ONLY: &str = "Only a rule that allows is saved here, as Always saves one. Add the \
                           line to the rules file instead.";
pub(super) const ONE_STAR: &str = "A rule is saved with one `*`, at the end and behind a blank, such as \
                        `cargo build *`. Add other patterns to the rules file.";
const WHOLE_TOOL: &str = "Of a tool without commands the whole tool is saved, with the pattern \
                          `*`. Add other patterns to the rules file.";
pub(super) const CRITICAL: &str =
    "Such calls are critical: they ask every time, whatever a rule says.";
pub(super) const ALLOWED: &str = "Such calls are allowed already, so there is nothing to save.";
pub(super) const TOO_WIDE: &str = "That is wider than Always goes. Name more of the command, or add the line \
                        to the rules file.";
pub(super) const NEVER: &str = "No rule is saved for such calls: each asks. A line in the rules file may \
                     still allow them.";
pub(super) const PAUSED: &str = "Everything is paused: no rule is saved until somebody resumes.";
/// How long uses are counted before they are written.
const TOGETHER: Duration = Duration::from_secs(5);
/// How many different rules and sessions are counted until then. What is beyond is not counted.
const MOST: usize = 1_000;
/// How much of a call is kept, in characters.
const CALL: usize = 200;

/// What became of a revocation.
#[derive(Debug)]
#[must_use]
pub enum Revoked {
    /// It no longer holds.
    Done(Box<Grant>),
    /// The store forgot it, but the rule is still in a rules file, for this reason.
    FileKeepsIt(Box<Grant>, String),
    /// There is no such grant in force.
    Unknown,
}

/// What became of a rule that somebody wanted to save.
#[derive(Debug)]
#[must_use]
pub enum RuleSaved {
    /// It holds from now on.
    Saved(Box<Grant>),
    /// It was not saved, for this reason.
    Refused(String),
    /// Only approvers save rules.
    NotAllowed(Stranger),
}

/// Counts the uses of grants.
#[derive(Debug)]
pub struct GrantUses {
    store: Store,
    /// Since the last write.
    counted: Mutex<HashMap<UsedRule, GrantUse>>,
    news: Notify,
}

impl GrantUses {
    pub(super) fn new(store: Store) -> Self {
        Self { store, counted: Mutex::default(), news: Notify::new() }
    }

    /// Counts a call that this rule let run, whether it is a grant's or not: that is looked up when
    /// it is written, because no call shall wait for it.
    pub(super) fn count(&self, call: &Call, rule: Option<&Rule>) {
        let Some(rule) = rule.cloned() else { return };
        let owner = call.owner.as_ref().map(|owner| owner.as_str().to_owned());
        let agent = call.agent.clone();
        let session = call.session.clone();
        let once = GrantUse { used: 1, last_at: clock::now_ms(), last_call: short(call) };
        self.add(UsedRule { rule, agent, session, owner }, once);
        self.news.notify_one();
    }

    fn add(&self, rule: UsedRule, uses: GrantUse) {
        let mut counted = locked(&self.counted);
        if let Some(known) = counted.get_mut(&rule) {
            let used = known.used + uses.used;
            if uses.last_at >= known.last_at {
                *known = uses;
            }
            known.used = used;
        } else if counted.len() < MOST {
            counted.insert(rule, uses);
        }
    }

    /// Writes what was counted.
    ///
    /// # Errors
    /// When the store fails; then it is written later.
    pub async fn write(&self) -> Result<(), StoreError> {
        let counted = std::mem::take(&mut *locked(&self.counted));
        if counted.is_empty() {
            return Ok(());
        }
        let written = self.try_write(&counted).await;
        if written.is_err() {
            counted.into_iter().for_each(|(rule, uses)| self.add(rule, uses));
        }
        written
    }

    async fn try_write(&self, counted: &HashMap<UsedRule, GrantUse>) -> Result<(), StoreError> {
        let grants = self.store.grants(clock::now_ms()).await?;
        let of = |(rule, uses): (&UsedRule, &GrantUse)| {
            // The latest, where several grants have the same rule.
            let grant = grants.iter().rev().find(|grant| is_behind(grant, rule))?;
            Some((grant.id.clone(), uses.clone()))
        };
        self.store.add_grant_uses(counted.iter().filter_map(of).collect()).await
    }

    /// Writes what is counted, some seconds after it was, until told to stop.
    pub async fn keep_written(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.news.notified()).await.is_some() {
            let _ = stop.run_until_cancelled(tokio::time::sleep(TOGETHER)).await;
            if let Err(error) = self.write().await {
                tracing::debug!(%error, "the uses of grants are written later");
            }
        }
        if let Err(error) = self.write().await {
            tracing::warn!(%error, "the latest uses of grants are not written");
        }
    }
}

impl Gate {
    /// Revokes a grant; it stops covering calls at once.
    ///
    /// # Errors
    /// [`ApproverError`]
    pub async fn revoke(&self, id: &str, who: Who) -> Result<Revoked, ApproverError> {
        let by = Some(self.person(who)?);
        let Some(grant) = self.store.revoke_grant(id, by, clock::now_ms()).await? else {
            return Ok(Revoked::Unknown);
        };
        if let Err(problem) = self.remove_pending().await {
            return Ok(Revoked::FileKeepsIt(Box::new(grant), problem));
        }
        // INVARIANT: nobody is told that a call asks which a line of the file still allows.
        Ok(match self.choices().policy.still_allows(&grant.rule) {
            Some(why) => Revoked::FileKeepsIt(Box::new(grant), why),
            None => Revoked::Done(Box::new(grant)),
        })
    }

    /// Takes the rules of revoked grants out of the files of workers, unless another grant in force has
    /// the same rule. What cannot be taken out is tried again at the next revocation and the next
    /// start; why is returned.
    // INVARIANT: a rule that was revoked is out of the file in the end, though the process dies
    // between the commit and the file.
    pub(super) async fn remove_pending(&self) -> Result<(), String> {
        let policy = self.choices().policy.clone();
        let Some(workers) = policy.workers().filter(|_| !self.store.is_shared()) else {
            return Ok(());
        };
        let _one_at_a_time = self.file.lock().await;
        self.try_remove_pending(workers).await.map_err(|error| error.to_string())?
    }

    async fn try_remove_pending(
        &self,
        workers: &Workers,
    ) -> Result<Result<(), String>, StoreError> {
        let mut kept = Ok(());
        let gone = self.store.unremoved_grants().await?;
        if gone.is_empty() {
            return Ok(kept);
        }
        let in_force = self.store.grants(clock::now_ms()).await?;
        for grant in gone {
            let worker = self.worker_of(&grant).await?;
            let mut needed = false;
            for other in in_force.iter().filter(|other| other.in_file) {
                needed |= other.rule == grant.rule && self.worker_of(other).await? == worker;
            }
            let removed =
                if needed { Ok(()) } else { workers.remove(worker.as_deref(), &grant.rule) };
            match removed {
                Ok(()) => self.store.grant_removed(&grant.id).await?,
                Err(problem) => {
                    let grant = &grant.id;
                    tracing::warn!(%grant, problem, "a revoked rule is still in the file");
                    kept = Err(problem);
                }
            }
        }
        Ok(kept)
    }

    /// Whether it is counted how often grants are used: decisions of other profiles do not name the
    /// grant behind them.
    #[must_use]
    pub fn counts_uses(&self) -> bool {
        matches!(*self.choices().policy, Policy::Rules(..))
    }

    /// Writes to the files of workers what a crash kept from being written.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn write_pending_grants(&self) -> Result<(), StoreError> {
        let policy = self.choices().policy.clone();
        let Some(workers) = policy.workers().filter(|_| !self.store.is_shared()) else {
            return Ok(());
        };
        // One that stays says why in the log; the next start tries again.
        let _ = self.remove_pending().await;
        let _one_at_a_time = self.file.lock().await;
        for grant in self.store.unwritten_grants().await? {
            let worker = self.worker_of(&grant).await?;
            match workers.append(worker.as_deref(), std::slice::from_ref(&grant.rule)) {
                Ok(()) => self.store.grant_written(&grant.id).await?,
                Err(problem) => {
                    tracing::warn!(grant = %grant.id, problem, "a grant is not written")
                }
            }
        }
        Ok(())
    }

    /// The worker whose call a grant was made for.
    async fn worker_of(&self, grant: &Grant) -> Result<Option<String>, StoreError> {
        Ok(self.store.ask(&grant.ask).await?.and_then(|ask| ask.body.call.worker))
    }

    /// Writes the rules of an Always to the file that keeps them, if one does, and rules on the call
    /// again. `Some` says in what way the grant does not do what its button said.
    // INVARIANT: a grant that is committed holds, and no trouble after it is told as if it did not.
    pub(super) async fn store_always(&self, ask: &Ask) -> Result<Option<String>, String> {
        let Some(answer) = ask.answer() else { return Ok(None) };
        if answer.scope.is_none_or(|scope| scope == Scope::Once) {
            return Ok(None);
        }
        let policy = self.choices().policy.clone();
        let kept = match policy.refuses(&ask.body.stored_rules(answer)) {
            Some(problem) => Ok(Err(problem)),
            None => self.write_always(ask, &policy).await,
        };
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => {
                tracing::warn!(ask_id = %ask.id, problem, "Always could not be stored");
                if let Err(error) = self.take_back(|grant| grant.ask == ask.id).await {
                    tracing::warn!(ask_id = %ask.id, %error, "its grants are still in the store");
                }
                return Err(problem);
            }
            Err(error) => return Ok(Some(unchecked(&error))),
        }
        if answer.stored.parts.is_some() {
            // What was left out asks again, as its approver wants it.
            return Ok(None);
        }
        let ruling = match self.decide_anew(&ask.body.call).await {
            Ok(ruling) => ruling,
            Err(error) => return Ok(Some(unchecked(&error))),
        };
        Ok((ruling.verdict != Verdict::Allow).then(|| {
            format!(
                "But the stored rule does not win, the next such call asks again: {}",
                ruling.reason
            )
        }))
    }

    async fn write_always(
        &self,
        ask: &Ask,
        policy: &Policy,
    ) -> Result<Result<(), String>, StoreError> {
        let Some(workers) = policy.workers().filter(|_| !self.store.is_shared()) else {
            return Ok(Ok(()));
        };
        let _one_at_a_time = self.file.lock().await;
        let mut ours = self.store.unwritten_grants().await?;
        ours.retain(|grant| grant.ask == ask.id);
        let rules: Vec<_> = ours.iter().map(|grant| grant.rule.clone()).collect();
        if rules.is_empty() {
            return Ok(Ok(()));
        }
        let written = workers.append(ask.body.call.worker.as_deref(), &rules);
        if written.is_ok() {
            self.note_written(&ours).await;
        }
        Ok(written)
    }

    /// Takes grants back that do not do what they say, and are in no file.
    async fn take_back(&self, which: impl Fn(&Grant) -> bool) -> Result<(), StoreError> {
        let mut grants = self.store.grants(clock::now_ms()).await?;
        grants.retain(which);
        for grant in grants {
            self.store.revoke_grant(&grant.id, None, clock::now_ms()).await?;
            self.store.grant_removed(&grant.id).await?;
        }
        Ok(())
    }

    /// Where it fails the rules are written once more at the next start, which changes nothing.
    async fn note_written(&self, grants: &[Grant]) {
        for grant in grants {
            if let Err(error) = self.store.grant_written(&grant.id).await {
                tracing::warn!(grant = %grant.id, %error, "a written grant is not noted as such");
            }
        }
    }

    /// Saves a rule for always, in the name of a person who is signed in.
    ///
    /// # Errors
    /// When the policy cannot decide on an example, or the store fails.
    // SECURITY: what no card would offer as Always is not saved either.
    pub async fn save_rule(
        self: &Arc<Self>,
        rule: Rule,
        who: Who,
    ) -> Result<RuleSaved, SubmitError> {
        let approver = match self.admit(who) {
            Ok(approver) => approver,
            Err(stranger) => return Ok(RuleSaved::NotAllowed(stranger)),
        };
        if let Some(why) = self.may_not_save(&approver, &rule) {
            return Ok(RuleSaved::Refused(why.to_owned()));
        }
        let rule = Rule { tool: canonical(&rule.tool).to_owned(), ..rule };
        let call = match example(&rule) {
            Ok(call) => call,
            Err(why) => return Ok(RuleSaved::Refused(why.to_owned())),
        };
        let decision = self.explain(&call).await?.decision;
        let offered = [&decision.always[..], &decision.exact[..]].concat();
        let why = match decision.verdict {
            // SECURITY: a grant lifts no deny; nobody is to think that it did.
            Verdict::Deny => format!("A deny is not lifted here: {}", decision.reason),
            _ if decision.critical => CRITICAL.to_owned(),
            Verdict::Allow => ALLOWED.to_owned(),
            Verdict::Ask if offered.iter().any(|it| is_within(&rule, it)) => {
                return self.store_rule(rule, person(&approver), &call).await;
            }
            Verdict::Ask if offered.is_empty() => NEVER.to_owned(),
            Verdict::Ask => TOO_WIDE.to_owned(),
        };
        Ok(RuleSaved::Refused(why))
    }

    fn may_not_save(&self, approver: &Approver, rule: &Rule) -> Option<&'static str> {
        let choices = self.choices();
        let standard = matches!(&*choices.policy, Policy::Rules(..));
        // SECURITY: where several people answer, one of them does not answer for all for ever.
        let checks = [
            (approver.person().is_none(), NAMELESS),
            (!choices.approvers.rules.is_empty(), ANSWER_RULES),
            (!standard, PROFILE),
            (rule.verdict != Verdict::Allow, ALLOWS_ONLY),
        ];
        checks.into_iter().find(|(fails, _)| *fails).map(|(_, why)| why)
    }

    async fn store_rule(
        self: &Arc<Self>,
        rule: Rule,
        by: By,
        call: &Call,
    ) -> Result<RuleSaved, SubmitError> {
        let grant = Grant::new(rule, GrantScope::Always, by, clock::now_ms());
        let grant = Grant { agent: MAKER.to_owned(), ..grant };
        let gate = self.clone();
        let new = grant.clone();
        // A page that goes away does not stop it half way.
        if !to_the_end(async move { gate.store.save_grant(&new).await }).await? {
            return Ok(RuleSaved::Refused(PAUSED.to_owned()));
        }
        let now = self.decide_anew(call).await?;
        if now.verdict == Verdict::Allow {
            tracing::info!(rule = %grant.rule, by = %grant.by, "a rule was saved");
            return Ok(RuleSaved::Saved(Box::new(grant)));
        }
        self.take_back(|it| it.id == grant.id).await?;
        Ok(RuleSaved::Refused(format!(
            "The rule would not win, so it was not saved: {}",
            now.reason
        )))
    }
}

fn unchecked(error: &dyn std::fmt::Display) -> String {
    format!("But it could not be checked that its rule holds: {error}")
}

/// The rules granted for always, then those granted to the session of this call.
pub(super) fn rules_for(call: &Call, grants: &[Grant]) -> Vec<Rule> {
    let is_always = |grant: &&Grant| grant.scope == GrantScope::Always;
    let is_here = |grant: &&Grant| !is_always(grant) && is_of(grant, call);
    let here = grants.iter().filter(is_here);
    grants.iter().filter(is_always).chain(here).map(|grant| grant.rule.clone()).collect()
}

/// The grants that an answer makes under this policy.
pub(super) fn grants_for(ask: &Ask, answer: &Answer, by: By, policy: &Policy) -> Vec<Grant> {
    if let Some(budget) = &ask.body.call.budget {
        return budgets::grants_of(ask, budget, answer, &by);
    }
    if ask.body.call.appeal.is_some() {
        return budgets::grant_of_appeal(ask, answer, &by);
    }
    let (scope, expires_at) = match (answer.decision, answer.scope) {
        (Decision::Approve, Some(Scope::Session)) => (GrantScope::Session, None),
        (Decision::Approve, Some(Scope::Always | Scope::Exact | Scope::Prefix)) => {
            match ask.body.lasts {
                GrantLifetime::Durable => (GrantScope::Always, None),
                GrantLifetime::Session => (GrantScope::Session, None),
            }
        }
        (Decision::Approve, Some(Scope::Timed(seconds))) => {
            (GrantScope::Timed, Some(answer.at + i64::from(seconds) * 1000))
        }
        (Decision::Approve, Some(Scope::Once) | None)
        | (Decision::Answer | Decision::Edit | Decision::Deny, _) => {
            return vec![];
        }
    };
    let in_file = policy.workers().is_some()
        && scope == GrantScope::Always
        && answer.scope != Some(Scope::Prefix);
    let call = &ask.body.call;
    let folder = call.cwd.clone().unwrap_or_default();
    let timed = matches!(answer.scope, Some(Scope::Session | Scope::Timed(_)));
    let grant = |rule: &Rule| Grant {
        folder: (timed && is_narrow(rule)).then(|| folder.clone()),
        expires_at,
        in_file,
        ..Grant::new(rule.clone(), scope, by.clone(), answer.at).given_on(ask, call)
    };
    ask.body.stored_rules(answer).into_iter().map(grant).collect()
}

/// The rule under which a beginning of commands is kept.
pub(super) fn of_prefix(category: &str, text: &str) -> Rule {
    Rule::allow(format!("{CATEGORY}{category}"), text)
}

/// Whether a grant was made in the session of this call, and holds in its folder.
// SECURITY: a caller that names another one's agent and session has another session of the same
// name.
pub(super) fn is_of(grant: &Grant, call: &Call) -> bool {
    let here = call.cwd.as_deref().unwrap_or_default();
    grant.agent == call.agent
        && grant.session == call.session
        && grant.owner == call.owner
        && grant.folder.as_deref().is_none_or(|folder| folder == here)
}

/// Whether a rule names one thing: a command with all of its words, a file, an address.
// SECURITY: `terraform apply` and `src/app.ts` are something else in another folder, and a button
// that says "this command" was read on a card that named the folder.
fn is_narrow(rule: &Rule) -> bool {
    let wide = rule.pattern == "*" || rule.pattern.ends_with(" *");
    !wide && !rule.pattern.starts_with("domain:") && !rule.tool.starts_with(CATEGORY)
}

/// Whether a stored grant names one tool, or one category, and nothing else.
// SECURITY: an agent names its tools. What could be read as a pattern covers nothing.
pub(super) fn is_literal(rule: &Rule) -> bool {
    let category = rule.tool.strip_prefix(CATEGORY);
    category.map_or_else(|| may_be_granted(&rule.tool), may_be_granted)
}

/// Granted rules in the forms that the profiles look at.
pub(super) fn as_kept(granted: &[Rule]) -> Grants {
    let mut kept = Grants { rules: Rules::from_grants(granted), ..Grants::default() };
    for Rule { tool, pattern, .. } in granted {
        match (tool.strip_prefix(CATEGORY), pattern.as_str()) {
            (Some(category), "*") => kept.categories.push(category.to_owned()),
            (Some(category), text) => {
                kept.prefixes.push(Prefix { text: text.to_owned(), category: category.to_owned() })
            }
            (None, "*") => kept.tools.push(tool.clone()),
            (None, _) => {}
        }
    }
    kept
}

/// A call that the rule would cover, as wide as it is.
fn example(rule: &Rule) -> Result<Call, &'static str> {
    let call = |args: Value| Call::new("countersign", "rules", &rule.tool, args);
    if canonical(&rule.tool) != SHELL {
        return if rule.pattern == "*" { Ok(call(json!({}))) } else { Err(WHOLE_TOOL) };
    }
    let (words, wide) = match rule.pattern.strip_suffix(" *") {
        Some(words) => (words, true),
        None => (&*rule.pattern, false),
    };
    if words.trim() != words || words.is_empty() || words.contains(['*', '?', '[', '{', '\\']) {
        return Err(ONE_STAR);
    }
    let command = if wide { format!("{words} example") } else { words.to_owned() };
    Ok(call(json!({ "command": command })))
}

/// Whether everything that a rule covers is covered by this offered one. Pure.
// SECURITY: of a text that is more than one plain command only exactly what is offered counts:
// `cargo build && rm -rf *` begins like `cargo build *`.
pub(super) fn is_within(rule: &Rule, offered: &Rule) -> bool {
    if canonical(&rule.tool) != canonical(&offered.tool) {
        return false;
    }
    let plain = |c: char| c.is_alphanumeric() || " -_./:=@%+,".contains(c);
    let words = rule.pattern.strip_suffix(" *").unwrap_or(&rule.pattern);
    let begins = || {
        let head = offered.pattern.strip_suffix('*').filter(|head| head.ends_with(' '));
        head.is_some_and(|head| rule.pattern.starts_with(head))
    };
    rule.pattern == offered.pattern || (words.chars().all(plain) && begins())
}

/// A rule that decided, and the session in which it did.
#[derive(Debug, PartialEq, Eq, Hash)]
struct UsedRule {
    rule: Rule,
    agent: String,
    session: String,
    owner: Option<String>,
}

/// Whether this grant holds where the rule decided, and is that rule.
fn is_behind(grant: &Grant, used: &UsedRule) -> bool {
    let Grant { rule, agent, session, owner, .. } = grant;
    let owner = owner.as_ref().map(|owner| owner.as_str());
    let same = (agent, session, owner) == (&used.agent, &used.session, used.owner.as_deref());
    let of_rule = grant.scope != GrantScope::Budget;
    *rule == used.rule && of_rule && (grant.scope == GrantScope::Always || same)
}

/// A call in short.
pub(super) fn short(call: &Call) -> String {
    let mut names = [COMMANDS, FILES, URLS].into_iter().flatten();
    let said = names.find_map(|name| call.args.get(*name)?.as_str());
    brief(&line(said.unwrap_or(&call.tool)), CALL)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::{Body, Owner};
    use countersign_policy::Guardrail;
    use countersign_profiles::Profile;
    use countersign_store::testkit::engines::on_both;

    #[test]
    fn grants_are_read_back_in_the_form_they_were_kept_in() {
        let kept = as_kept(&[
            of_prefix("exec", "cargo test"),
            Rule::allow("category:edit", "*"),
            Rule::allow("Bash", "*"),
            Rule::allow("shell_exec", "git push *"),
        ]);
        let prefix = Prefix { text: "cargo test".into(), category: "exec".into() };
        assert_eq!(kept.prefixes, [prefix]);
        assert_eq!(kept.categories, ["edit"]);
        assert_eq!(kept.tools, ["Bash"]);
        assert_eq!(kept.rules.iter().count(), 4);
    }

    #[test]
    fn what_an_earlier_version_stored_as_a_pattern_covers_nothing_any_more() {
        let literal = |tool: &str| is_literal(&Rule::allow(tool, "*"));
        for name in ["shell_exec", "mcp__github__create_issue", "category:exec"] {
            assert!(literal(name), "{name}");
        }
        for pattern in ["*", "shell_*", "Bash(*)", "{shell_exec,x}", "a?", "[x]", "category:*"] {
            assert!(!literal(pattern), "{pattern}");
        }
    }

    fn shell(pattern: &str) -> Rule {
        Rule::allow(SHELL, pattern)
    }

    #[test]
    fn an_example_is_as_wide_as_the_rule_and_other_patterns_have_none() {
        let of = |rule: Rule| example(&rule).map(|call| call.args);
        assert_eq!(of(shell("cargo build *")), Ok(json!({ "command": "cargo build example" })));
        assert_eq!(of(Rule::allow("Bash", "make test")), Ok(json!({ "command": "make test" })));
        assert_eq!(of(Rule::allow("mcp__db__list", "*")), Ok(json!({})));
        for pattern in
            ["*", " *", "cargo*", "* build", "git * push", "ls [ab]", "ls {a,b}", "ls \\*"]
        {
            assert_eq!(of(shell(pattern)), Err(ONE_STAR), "{pattern}");
        }
        assert_eq!(of(Rule::allow("write_file", "src/**")), Err(WHOLE_TOOL));
    }

    #[test]
    fn a_rule_is_within_an_offered_one_only_as_one_plain_command() {
        let offered = shell("cargo build *");
        for pattern in ["cargo build *", "cargo build --release *", "cargo build --release"] {
            assert!(is_within(&shell(pattern), &offered), "{pattern}");
        }
        for pattern in [
            "cargo *",
            "cargo build",
            "cargo builder *",
            "cargo build && rm -rf *",
            "cargo build; rm *",
            "cargo build $(rm x) *",
            "cargo build `rm x` *",
            "cargo build\nrm *",
            "cargo build > *",
            "cargo build ' *",
            "cargo build #*",
        ] {
            assert!(!is_within(&shell(pattern), &offered), "{pattern}");
        }
        assert!(!is_within(&Rule::allow("read_file", "cargo build *"), &offered));
        assert!(is_within(&Rule::allow("Bash", "cargo build *"), &offered));
        assert!(!is_within(&shell("anything at all"), &shell("*")), "no head, no beginning");
        let whole = "make && make test";
        assert!(is_within(&shell(whole), &shell(whole)));
    }

    /// A call in a folder, by a handle of its own.
    fn here() -> Call {
        let owner = Some(Owner::stored("token:1".to_owned()));
        let cwd = Some("/srv/shop".to_owned());
        Call { cwd, owner, ..Call::new("a", "s", SHELL, json!({"command": "make"})) }
    }

    fn of_here(scope: GrantScope, rule: Rule) -> Grant {
        let Call { agent, session, owner, cwd: folder, .. } = here();
        Grant { agent, session, owner, folder, ..Grant::new(rule, scope, By::Timeout, 0) }
    }

    #[test]
    fn a_grant_of_a_session_is_for_its_agent_session_handle_and_folder_alone() {
        let grant = of_here(GrantScope::Session, shell("make"));
        assert!(is_of(&grant, &here()));
        let changes: [fn(&mut Call); 4] = [
            |call| call.agent = "b".to_owned(),
            |call| call.session = "t".to_owned(),
            |call| call.owner = None,
            |call| call.cwd = Some("/srv".to_owned()),
        ];
        for change in changes {
            let mut other = here();
            change(&mut other);
            assert!(!is_of(&grant, &other), "{other:?}");
            assert_eq!(rules_for(&other, std::slice::from_ref(&grant)), []);
        }
        let anywhere = Grant { folder: None, ..grant };
        assert!(is_of(&anywhere, &Call { cwd: None, ..here() }));
    }

    #[test]
    fn a_grant_for_always_is_for_everybody_and_one_of_here_comes_after_it() {
        let session = of_here(GrantScope::Session, shell("git push"));
        let always = of_here(GrantScope::Always, shell("make"));
        let always = Grant { agent: "b".to_owned(), session: "t".to_owned(), ..always };
        assert_eq!(rules_for(&here(), &[session, always]), [shell("make"), shell("git push")]);
    }

    #[test]
    fn a_use_counts_for_the_grant_behind_it() {
        let owner = here().owner.map(|owner| owner.as_str().to_owned());
        let used =
            UsedRule { rule: shell("make"), agent: "a".to_owned(), session: "s".to_owned(), owner };
        let grant = of_here(GrantScope::Session, shell("make"));
        assert!(is_behind(&grant, &used));
        let elsewhere = Grant { session: "t".to_owned(), ..grant.clone() };
        assert!(!is_behind(&elsewhere, &used));
        assert!(is_behind(&Grant { scope: GrantScope::Always, ..elsewhere }, &used));
        assert!(!is_behind(&Grant { scope: GrantScope::Budget, ..grant.clone() }, &used));
        assert!(!is_behind(&Grant { rule: shell("git push"), ..grant }, &used));
    }

    #[test]
    fn only_what_names_one_thing_is_narrow() {
        let host = Rule::allow("web_fetch", "domain:x.example");
        for wide in [shell("*"), shell("git push *"), host, of_prefix("exec", "cargo test")] {
            assert!(!is_narrow(&wide), "{wide}");
        }
        for narrow in [shell("git push"), Rule::allow("write_file", "/srv/shop/a*")] {
            assert!(is_narrow(&narrow), "{narrow}");
        }
    }

    #[test]
    fn a_grant_lasts_as_its_scope_says_and_one_for_a_time_keeps_to_its_folder() {
        let open = |profile, file| Policy::open(profile, file, None, Guardrail::default(), false);
        let native = open(Profile::Standard, None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let workers = open(Profile::Molf, Some(&folder.path().join("rules.jsonc"))).unwrap();
        let always = vec![shell("make *")];
        let exact = vec![shell("make")];
        let body = Body { always, exact, prefix: vec![shell("make")], ..Body::new(here(), "") };
        let ask = Ask::opened("k1", "digest", body, 0);
        let given = |scope, policy| {
            let answer = Answer { scope, ..Answer::new(Decision::Approve, By::Timeout, 5) };
            let grants = grants_for(&ask, &answer, By::Timeout, policy).into_iter();
            let told = |it: Grant| {
                (it.scope, it.rule.pattern, it.expires_at, it.folder.is_some(), it.in_file)
            };
            grants.map(told).collect::<Vec<_>>()
        };
        let of = |scope, pattern: &str, until, in_folder, in_file| {
            vec![(scope, pattern.to_owned(), until, in_folder, in_file)]
        };
        let session = GrantScope::Session;
        let timed = GrantScope::Timed;
        for (scope, policy, grants) in [
            (Some(Scope::Session), &native, of(session, "make *", None, false, false)),
            (Some(Scope::Timed(600)), &native, of(timed, "make", Some(600_005), true, false)),
            (Some(Scope::Exact), &native, of(GrantScope::Always, "make", None, false, false)),
            (Some(Scope::Always), &workers, of(GrantScope::Always, "make *", None, false, true)),
            (Some(Scope::Prefix), &workers, of(GrantScope::Always, "make", None, false, false)),
            (Some(Scope::Timed(600)), &workers, of(timed, "make", Some(600_005), true, false)),
            (Some(Scope::Once), &workers, Vec::new()),
            (None, &workers, Vec::new()),
        ] {
            assert_eq!(given(scope, policy), grants, "{scope:?}");
        }
    }

    fn used(rule: Rule) -> UsedRule {
        UsedRule { rule, agent: "a".to_owned(), session: "s".to_owned(), owner: None }
    }

    #[tokio::test]
    async fn uses_are_counted_together_and_written_to_the_grant_behind_them() {
        on_both(async |store| {
            let grant = Grant::new(shell("make"), GrantScope::Always, By::Timeout, 1);
            assert!(store.save_grant(&grant).await.unwrap());
            let uses = GrantUses::new(store.clone());
            let before = clock::now_ms();
            uses.count(&here(), Some(&shell("make")));
            uses.count(&here(), Some(&shell("make")));
            uses.count(&here(), Some(&shell("git push")));
            uses.count(&here(), None);
            for _ in 0..2 {
                uses.write().await.unwrap();
                let mut written = store.grant_uses().await.unwrap();
                let GrantUse { used, last_at, last_call } = written.remove(&grant.id).unwrap();
                assert_eq!((used, last_call.as_str(), written.len()), (2, "make", 0));
                assert!((before..=clock::now_ms()).contains(&last_at), "{last_at}");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn of_uses_the_latest_is_kept_and_what_is_new_beyond_the_most_is_not_counted() {
        on_both(async |store| {
            let uses = GrantUses::new(store);
            let add = |pattern: &str, at: i64| {
                let once = GrantUse { used: 1, last_at: at, last_call: at.to_string() };
                uses.add(used(shell(pattern)), once);
            };
            let counted = |pattern: &str| {
                let counted = uses.counted.lock().unwrap();
                let it = counted.get(&used(shell(pattern)))?;
                Some((it.used, it.last_at, it.last_call.clone()))
            };
            for at in [20, 30, 10] {
                add("make", at);
            }
            assert_eq!(counted("make"), Some((3, 30, "30".to_owned())));
            for n in 1..MOST {
                add(&n.to_string(), 1);
            }
            add("one more", 1);
            add("make", 40);
            assert_eq!(counted("one more"), None);
            assert_eq!(counted(&(MOST - 1).to_string()), Some((1, 1, "1".to_owned())));
            assert_eq!(counted("make"), Some((4, 40, "40".to_owned())));
        })
        .await;
    }
}
