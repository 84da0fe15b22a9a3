//! Votes of several people on one ask at two daemons: changed votes, two accounts of one person, a
//! config that is loaded anew, crashes and a deadline. What a press comes to is said by the real
//! functions; who counts is said by a plain table.

use countersign::gate::ask::{
    Answer, Ask, By, Decision, Scope,
    requirement::{Exclusion, Requirement, VoteCount},
    votes::{self, Vote},
};
use countersign::people::{
    answer::{Action, Change, apply},
    approvers::{Approvers, NamedPerson, People, RoleGroup, Who},
    quorum::{Weighed, may_answer, weigh},
};
use serde_json::json;
use stateright::{Model, Property};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

pub const ENOUGH: &str = "1. an ask is approved by enough people who count when that is committed";
pub const DENIED: &str = "2. it is denied by enough people who count then";
pub const AT_ONCE: &str = "3. the vote that is enough ends it";
pub const IN_TIME: &str = "4. no vote is later than the deadline";
pub const TOLD: &str = "5. who was told that they voted, and counts, is among the votes";

/// What has to be possible, lest a promise holds because nothing happens.
pub const CAN_BE: [&str; 5] = [
    "several people approve it",
    "several people deny it",
    "one person votes with two accounts",
    "who voted is removed before the end",
    "the deadline ends an ask with votes",
];

/// How it is done. Only one is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Right,
    /// The commit does not look at the row.
    CommitUnseen,
    /// Earlier votes count as they did when they were cast.
    AsCast,
    /// A reload does not wait for a press that is being recorded.
    ReloadMeanwhile,
    /// A press that has to try again is not admitted again.
    AdmittedOnce,
    /// Accounts are counted instead of people.
    ByAccount,
    /// A vote is recorded after the deadline.
    AfterDeadline,
    /// Votes are kept in the memory of the daemon that received them.
    InMemory,
}

/// Who presses what, at which daemon.
pub type VotePress = (usize, &'static str, bool);

/// The model.
#[derive(Debug, Clone)]
pub struct Votes {
    pub order: Order,
    /// Account and whether it denies, by the daemon that receives it.
    pub presses: Vec<VotePress>,
    pub approvals: u32,
    pub denials: u32,
    /// Whether the requester, Ana, is excluded.
    pub four_eyes: bool,
    pub crashes: u8,
}

/// Who an account is under a config, and whether they are in the group; `None`: nobody who may
/// answer. In the second config Ben has left the group, and Cleo is gone.
fn table(config: usize, account: &str) -> Option<(&'static str, bool)> {
    Some(match (account, config) {
        ("ana-t" | "ana-d", _) => ("Ana", true),
        ("ben", 0) => ("Ben", true),
        ("ben", _) => ("Ben", false),
        ("cleo", 0) => ("Cleo", true),
        ("dan", _) => ("Dan", true),
        _ => return None,
    })
}

const ACCOUNTS: [&str; 5] = ["ana-t", "ana-d", "ben", "cleo", "dan"];

static CONFIGS: LazyLock<[Approvers; 2]> = LazyLock::new(|| [0, 1].map(approvers));

fn approvers(config: usize) -> Approvers {
    let mut named: BTreeMap<&str, NamedPerson> = BTreeMap::new();
    for account in ACCOUNTS {
        let Some((name, in_ops)) = table(config, account) else { continue };
        let person = named.entry(name).or_default();
        person.name = name.to_owned();
        // Dan is in the group by a role that he shows with each press.
        let configured = in_ops && name != "Dan";
        person.groups = configured.then(|| "ops".to_owned()).into_iter().collect();
        let ids = person.identities.entry("telegram".to_owned()).or_default();
        ids.insert(account.to_owned());
    }
    let roles = BTreeMap::from([("telegram".to_owned(), BTreeSet::from(["7".to_owned()]))]);
    let groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
    let people = People { named: named.into_values().collect(), groups };
    Approvers { people, ..Approvers::default() }
}

/// Everything, durable and not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    late: bool,
    /// Durable.
    row: VotedRow,
    daemons: [VoteDaemon; 2],
    hands: Vec<VoteStep>,
    crashes: u8,
    /// The votes as they were committed, for the reference.
    cast: Vec<(String, bool)>,
    /// What a promise says must not have happened.
    broken: Option<&'static str>,
    removed_voter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct VotedRow {
    version: i64,
    votes: Vec<SmallVote>,
    end: Option<VoteEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SmallVote {
    account: String,
    denies: bool,
    person: Option<String>,
    groups: BTreeSet<String>,
    roles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum VoteEnd {
    Approved,
    Denied,
    Expired,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct VoteDaemon {
    config: usize,
    /// Only a wrong order has any.
    remembered: Vec<SmallVote>,
}

/// Where a press is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum VoteStep {
    Idle,
    /// The row was read; only a wrong order was admitted before, under this config.
    Read(VotedRow, Option<usize>),
    /// What it comes to, on the version that was read, and who was admitted.
    Weighed(i64, Outcome, usize),
    Told(bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Outcome {
    Vote(Vec<SmallVote>),
    End(VoteEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    Press(usize),
    Go(usize),
    Reload(usize),
    Crash(usize),
    Tick,
    Expire,
}

impl Votes {
    fn requirement(&self) -> Requirement {
        let exclude = if self.four_eyes {
            Exclusion::Requester { person: Some("Ana".to_owned()) }
        } else {
            Exclusion::Nobody
        };
        let count = match self.order {
            Order::ByAccount => VoteCount::Accounts,
            _ => VoteCount::People,
        };
        Requirement {
            rule: "deploy".to_owned(),
            group: Some("ops".to_owned()),
            also: vec![],
            approvals: self.approvals,
            deny: self.denials,
            count,
            exclude,
        }
    }

    fn ask(&self, row: &VotedRow) -> Ask {
        let body = json!({"call": {"agent": "a", "session": "s", "tool": "shell_exec",
            "args": {"command": "make deploy"}}, "why": "no rule"});
        let mut ask = Ask::opened("ask", "digest", serde_json::from_value(body).unwrap(), 0);
        ask.body.requirements = vec![self.requirement()];
        ask.votes = row.votes.iter().map(SmallVote::real).collect();
        ask.version = row.version;
        ask
    }

    /// What a press comes to on the row as it was read; `None` where its presser may not answer.
    fn weigh(
        &self,
        row: &VotedRow,
        config: usize,
        admitted: usize,
        press: usize,
    ) -> Option<Outcome> {
        let (_, account, denies) = self.presses[press];
        let roles = vec!["7".to_owned()];
        let roles = if account == "dan" { roles } else { vec![] };
        let (name, id) = (account.to_owned(), account.to_owned());
        let by = CONFIGS[admitted].admit(Who { platform: "telegram", id, name, roles }).ok()?;
        let ask = self.ask(row);
        may_answer(&ask, &CONFIGS[admitted].people, &by).ok()?;
        let action = if denies {
            Action::Deny { reason: None, then: None }
        } else {
            Action::Approve { scope: Scope::Once }
        };
        let Ok(Change::Close(answer)) = apply(&ask, &by, action, 1) else { return None };
        if self.order == Order::AsCast {
            let standing = by.standing().clone();
            let (roles, answer) = (by.who().roles.clone(), *answer);
            let vote = Vote { person: standing.person, groups: standing.groups, roles, answer };
            let all = votes::cast(ask.votes.clone(), vote);
            return Some(match votes::answer(&ask.body.requirements, &all, 1) {
                Some(answer) => Outcome::End(end(&answer)),
                None => Outcome::Vote(all.iter().map(SmallVote::of).collect()),
            });
        }
        Some(match weigh(&ask, &CONFIGS[config], &by, *answer) {
            Weighed::Answer(answer) => Outcome::End(end(&answer)),
            Weighed::Votes(votes) => Outcome::Vote(votes.iter().map(SmallVote::of).collect()),
        })
    }

    fn go(&self, world: &mut World, press: usize) {
        let at = self.presses[press].0;
        let now = world.daemons[at].config;
        world.hands[press] = match world.hands[press].clone() {
            VoteStep::Read(row, _) if row.end.is_some() => VoteStep::Told(false),
            VoteStep::Read(..) if world.late && self.order != Order::AfterDeadline => {
                VoteStep::Told(false)
            }
            VoteStep::Read(mut row, first) => {
                if self.order == Order::InMemory {
                    row.votes.clone_from(&world.daemons[at].remembered);
                }
                let admitted = first.unwrap_or(now);
                match self.weigh(&row, now, admitted, press) {
                    Some(outcome) => VoteStep::Weighed(row.version, outcome, admitted),
                    None => VoteStep::Told(false),
                }
            }
            VoteStep::Weighed(seen, outcome, admitted) => {
                let unchanged = world.row.end.is_none() && world.row.version == seen;
                let in_time = !world.late || self.order == Order::AfterDeadline;
                let takes = unchanged && in_time || self.order == Order::CommitUnseen;
                if takes {
                    self.commit(world, press, outcome)
                } else {
                    let again = (self.order == Order::AdmittedOnce).then_some(admitted);
                    VoteStep::Read(world.row.clone(), again)
                }
            }
            other => other,
        };
    }

    /// Commits, and compares with the table.
    fn commit(&self, world: &mut World, press: usize, outcome: Outcome) -> VoteStep {
        let (at, account, denies) = self.presses[press];
        let config = world.daemons[at].config;
        world.removed_voter |=
            world.row.votes.iter().any(|vote| table(config, &vote.account).is_none());
        world.cast.retain(|(voter, _)| table(config, voter).is_some() && *voter != account);
        world.cast.push((account.to_owned(), denies));
        let mut last: BTreeMap<&str, bool> = BTreeMap::new();
        for (voter, denies) in &world.cast {
            if let Some((person, true)) = table(config, voter)
                && !(self.four_eyes && person == "Ana")
            {
                last.insert(person, *denies);
            }
        }
        let against = last.values().filter(|denies| **denies).count();
        let (enough, against) =
            (last.len() - against >= self.approvals as usize, against >= self.denials as usize);
        let broken = match &outcome {
            Outcome::End(VoteEnd::Approved) if !enough || against => Some(ENOUGH),
            Outcome::End(VoteEnd::Denied) if !against => Some(DENIED),
            Outcome::Vote(_) if enough || against => Some(AT_ONCE),
            Outcome::Vote(votes) => {
                let counted = |(voter, denies): &(String, bool)| {
                    votes.iter().any(|vote| vote.account == *voter && vote.denies == *denies)
                };
                (!world.cast.iter().all(counted)).then_some(TOLD)
            }
            Outcome::End(_) => None,
        };
        world.broken = world.broken.or(broken).or(world.late.then_some(IN_TIME));
        world.row.version += 1;
        match outcome {
            Outcome::End(end) => world.row.end = Some(end),
            Outcome::Vote(votes) => {
                world.daemons[at].remembered.clone_from(&votes);
                world.row.votes = votes;
            }
        }
        VoteStep::Told(true)
    }
}

fn end(answer: &Answer) -> VoteEnd {
    match answer.decision {
        Decision::Deny => VoteEnd::Denied,
        _ => VoteEnd::Approved,
    }
}

impl SmallVote {
    fn of(vote: &Vote) -> Self {
        Self {
            account: vote.account().unwrap().1.to_owned(),
            denies: vote.answer.decision == Decision::Deny,
            person: vote.person.clone(),
            groups: vote.groups.clone(),
            roles: vote.roles.clone(),
        }
    }

    fn real(&self) -> Vote {
        let decision = if self.denies { Decision::Deny } else { Decision::Approve };
        let (id, name) = (self.account.clone(), self.account.clone());
        let by = By::Person { platform: "telegram".to_owned(), id, name };
        let scope = (!self.denies).then_some(Scope::Once);
        Vote {
            answer: Answer { scope, ..Answer::new(decision, by, 1) },
            person: self.person.clone(),
            groups: self.groups.clone(),
            roles: self.roles.clone(),
        }
    }
}

impl Model for Votes {
    type State = World;
    type Action = Deed;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            late: false,
            row: VotedRow { version: 1, votes: vec![], end: None },
            daemons: Default::default(),
            hands: vec![VoteStep::Idle; self.presses.len()],
            crashes: 0,
            cast: vec![],
            broken: None,
            removed_voter: false,
        }]
    }

    fn actions(&self, world: &World, deeds: &mut Vec<Deed>) {
        for (n, step) in world.hands.iter().enumerate() {
            match step {
                VoteStep::Idle => deeds.push(Deed::Press(n)),
                VoteStep::Read(..) | VoteStep::Weighed(..) => deeds.push(Deed::Go(n)),
                VoteStep::Told(_) => {}
            }
        }
        for (at, daemon) in world.daemons.iter().enumerate() {
            let here = self.presses.iter().zip(&world.hands).filter(|(press, _)| press.0 == at);
            let mut here = here.map(|(_, step)| step);
            let recording = here.any(|step| matches!(step, VoteStep::Weighed(..)));
            let waits = recording && self.order != Order::ReloadMeanwhile;
            if daemon.config == 0 && !waits {
                deeds.push(Deed::Reload(at));
            }
            if world.crashes < self.crashes {
                deeds.push(Deed::Crash(at));
            }
        }
        if !world.late {
            deeds.push(Deed::Tick);
        } else if world.row.end.is_none() {
            deeds.push(Deed::Expire);
        }
    }

    fn next_state(&self, world: &World, deed: Deed) -> Option<World> {
        let mut next = world.clone();
        match deed {
            Deed::Press(n) => {
                let at = world.daemons[self.presses[n].0].config;
                let admitted = (self.order == Order::AdmittedOnce).then_some(at);
                next.hands[n] = VoteStep::Read(world.row.clone(), admitted);
            }
            Deed::Go(n) => self.go(&mut next, n),
            Deed::Reload(at) => next.daemons[at].config = 1,
            Deed::Crash(at) => {
                next.crashes += 1;
                next.daemons[at].remembered.clear();
                for (press, step) in self.presses.iter().zip(&mut next.hands) {
                    let under_way = matches!(step, VoteStep::Read(..) | VoteStep::Weighed(..));
                    if press.0 == at && under_way {
                        *step = VoteStep::Told(false);
                    }
                }
            }
            Deed::Tick => next.late = true,
            Deed::Expire => next.row.end = Some(VoteEnd::Expired),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ENOUGH, |_, world: &World| world.broken != Some(ENOUGH)),
            Property::always(DENIED, |_, world: &World| world.broken != Some(DENIED)),
            Property::always(AT_ONCE, |_, world: &World| world.broken != Some(AT_ONCE)),
            Property::always(IN_TIME, |_, world: &World| world.broken != Some(IN_TIME)),
            Property::always(TOLD, |_, world: &World| world.broken != Some(TOLD)),
            Property::sometimes(CAN_BE[0], |_, world: &World| {
                world.row.end == Some(VoteEnd::Approved)
            }),
            Property::sometimes(CAN_BE[1], |votes: &Self, world: &World| {
                world.row.end == Some(VoteEnd::Denied) || !votes.presses.iter().any(|it| it.2)
            }),
            Property::sometimes(CAN_BE[2], |votes: &Self, world: &World| {
                let both = |row: &VotedRow| {
                    let has = |id: &str| row.votes.iter().any(|vote| vote.account == id);
                    has("ana-t") && has("ana-d")
                };
                both(&world.row) || votes.four_eyes
            }),
            Property::sometimes(CAN_BE[3], |votes: &Self, world: &World| {
                world.removed_voter || votes.denials == 1
            }),
            Property::sometimes(CAN_BE[4], |_, world: &World| {
                world.row.end == Some(VoteEnd::Expired) && !world.row.votes.is_empty()
            }),
        ]
    }
}
