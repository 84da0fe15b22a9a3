//! Who may answer: people of chats, people with a name and their groups. Pure.

use crate::{duty::Hours, rules::AnswerRule};
use countersign_domain::{By, Owner, call::Call};
use countersign_tokens::secret::TokenHash;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// The people who may answer, by the lasting ids of their platforms. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// People without a name, by the platform's name, which is opaque here.
    pub chats: BTreeMap<String, Members>,
    /// People with a name.
    pub people: People,
    /// Whose answers which asks need.
    pub rules: Vec<AnswerRule>,
    /// Whether local answering is on: the inbox, and the approver's token.
    pub local: Local,
}

/// The people of one platform who may answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// By their own ids.
    pub people: BTreeSet<String>,
    /// By the ids of roles that they hold.
    pub roles: BTreeSet<String>,
}

/// Whether people at this machine may answer, in the inbox or with the approver's token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Local {
    /// They may not.
    #[default]
    Off,
    /// They may.
    On,
}

/// Somebody who may answer. Only [`Approvers::admit`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    who: Who,
    standing: Standing,
}

/// Who somebody is to the config at the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Their name in the config; people without one may be anybody.
    pub person: Option<String>,
    /// Their groups.
    pub groups: BTreeSet<String>,
}

/// The presser is no approver. A sentence for them alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Stranger(pub &'static str);

/// What is told to somebody at this machine who does not say who they are.
const NAMELESS: &str = "People answer by name here ([[people]] in the config), and this does not \
                        say who you are. Answer in your chat, sign in to the inbox (send /login \
                        to the bot), or use a token of your own.";

impl Approvers {
    /// These people of one platform, and nobody else.
    #[must_use]
    pub fn of_chat(platform: &str, members: Members) -> Self {
        let chats = BTreeMap::from([(platform.to_owned(), members)]);
        Self { chats, ..Self::default() }
    }

    /// The one check of identity, for every surface.
    ///
    /// # Errors
    /// [`Stranger`] unless [`Approvers::standing`] knows them.
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        if let Some(standing) = self.standing(who.platform, &who.id, &who.roles) {
            return Ok(Approver { who, standing });
        }
        Err(Stranger(match who.platform {
            "inbox" | "api" if !self.people.is_empty() => NAMELESS,
            "inbox" | "api" => {
                "Answering from this machine is off, because a chat approver is configured. Set \
                 `[approvers] inbox = true` to switch it on."
            }
            _ => "You may not answer this: you are not on the list of approvers.",
        }))
    }

    /// Who somebody is, if they may answer: a person has this very id, or the platform's list names
    /// it or a role that they hold.
    // SECURITY: names are never compared, their owners can change them.
    #[must_use]
    pub fn standing(&self, platform: &str, id: &str, roles: &[String]) -> Option<Standing> {
        let groups = self.people.groups_of(platform, id, roles);
        if let Some(person) = self.people.find(platform, id) {
            return Some(Standing { person: Some(person.name.clone()), groups });
        }
        let listed = |members: &Members| {
            members.people.contains(id) || roles.iter().any(|role| members.roles.contains(role))
        };
        let admitted = match platform {
            // FAIL-CLOSED: once people have names, nobody answers without one.
            "inbox" | "api" => self.local == Local::On,
            // FAIL-CLOSED: a platform that is not named has no approvers.
            chat => self.chats.get(chat).is_some_and(listed) || !groups.is_empty(),
        };
        admitted.then_some(Standing { person: None, groups })
    }

    /// The roles of a platform that anything here depends on.
    #[must_use]
    pub fn roles_on(&self, platform: &str) -> Vec<String> {
        let listed = self.chats.get(platform).into_iter().flat_map(|members| &members.roles);
        let of_groups = self.people.groups.iter().filter_map(|group| group.roles.get(platform));
        let all: BTreeSet<&String> = listed.chain(of_groups.flatten()).collect();
        all.into_iter().cloned().collect()
    }

    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        match platform {
            "inbox" => self.local == Local::On || !self.people.is_empty(),
            chat => {
                self.people.are_on(chat)
                    || self.chats.get(chat).is_some_and(|members| members.count() > 0)
            }
        }
    }

    /// Whether anybody may answer anywhere.
    #[must_use]
    pub fn anybody(&self) -> bool {
        self.has_chat_approver() || self.may_answer_on("inbox") || !self.people.is_empty()
    }

    /// Whether anybody at this machine may answer without saying who they are.
    #[must_use]
    pub fn answers_nameless(&self) -> bool {
        self.local == Local::On
    }

    /// Whether anybody in a chat may answer.
    #[must_use]
    pub fn has_chat_approver(&self) -> bool {
        let in_lists = self.chats.values().any(|members| members.count() > 0);
        in_lists || self.people.platforms().iter().any(|it| !["api", OIDC].contains(it))
    }
}

impl Members {
    /// People, by their own ids.
    #[must_use]
    pub fn people<const N: usize>(ids: [&str; N]) -> Self {
        Self { people: ids.map(str::to_owned).into(), roles: BTreeSet::new() }
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.people.len() + self.roles.len()
    }
}

impl Approver {
    /// Who it is.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// Their name in the config; people without one may be anybody.
    #[must_use]
    pub fn person(&self) -> Option<&str> {
        self.standing.person.as_deref()
    }

    /// Who they are to the config.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.standing
    }
}

/// An approver as the one who decided.
#[must_use]
pub fn person(approver: &Approver) -> By {
    let who = approver.who();
    let name = approver.person().unwrap_or(&who.name).to_owned();
    By::Person { platform: who.platform.to_owned(), id: who.id.clone(), name }
}

/// Somebody who wants to answer, as their surface vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The platform's name; `inbox` or `api` (the approver's token) at this machine.
    pub platform: &'static str,
    /// Lasting id there.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// Role ids at the moment of the press.
    pub roles: Vec<String>,
}

/// The key of identities for which an identity provider vouches, as chats have their names.
pub const OIDC: &str = "oidc";

/// Everybody who has a name in the config, and what makes somebody a member of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    /// Each has identities that nobody else has.
    pub named: Vec<NamedPerson>,
    /// The groups that roles of a platform stand for.
    pub groups: Vec<RoleGroup>,
}

/// One person, however they answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedPerson {
    /// Unique.
    pub name: String,
    /// Lasting ids by the platform's name; `api` has the id of their own token.
    pub identities: BTreeMap<String, BTreeSet<String>>,
    /// Their own token.
    pub token: Option<TokenHash>,
    /// The groups that the config puts them in.
    pub groups: BTreeSet<String>,
    /// The machines whose agents work for them.
    pub hosts: BTreeSet<String>,
    /// The agents with a token of their own that work for them.
    pub agents: BTreeSet<String>,
    /// Whose clock their hours and times go by.
    pub zone: Option<TimeZone>,
    /// When they get no direct messages.
    pub quiet: Option<QuietHours>,
}

/// A group whose members are known to a platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleGroup {
    /// Its name.
    pub name: String,
    /// The ids of its roles, by the platform's name.
    pub roles: BTreeMap<String, BTreeSet<String>>,
}

/// Hours in which a person gets no direct messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    /// When.
    pub hours: Hours,
    /// What is sent nonetheless.
    pub except: QuietException,
}

/// What a person gets in their quiet hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuietException {
    /// Critical requests.
    #[default]
    Critical,
    /// Nothing.
    Nothing,
}

impl QuietHours {
    /// Whether a request waits for their end.
    #[must_use]
    pub fn hold(&self, critical: bool, now_ms: i64) -> bool {
        let breaks_through = critical && self.except == QuietException::Critical;
        self.hours.include(now_ms) && !breaks_through
    }
}

impl People {
    /// Whether nobody has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// The person whom a surface vouches for. Somebody who is signed in to the inbox is known there
    /// by the identity with which they signed in, `PLATFORM:ID`.
    // SECURITY: names that people choose themselves are never compared.
    #[must_use]
    pub fn find(&self, platform: &str, id: &str) -> Option<&NamedPerson> {
        let (platform, id) = match platform {
            "inbox" => id.split_once(':')?,
            _ => (platform, id),
        };
        self.named.iter().find(|person| person.has(platform, id))
    }

    /// The groups of somebody: those in the config, and those of their roles.
    #[must_use]
    pub fn groups_of(&self, platform: &str, id: &str, roles: &[String]) -> BTreeSet<String> {
        let person = self.find(platform, id);
        let configured = person.map(|person| person.groups.clone()).unwrap_or_default();
        let by_role = self.groups.iter().filter(|group| group.includes(platform, roles));
        configured.into_iter().chain(by_role.map(|group| group.name.clone())).collect()
    }

    /// The tokens of all people.
    #[must_use]
    pub fn tokens(&self) -> Vec<TokenHash> {
        self.named.iter().filter_map(|person| person.token.clone()).collect()
    }

    /// The person whose agent makes a call, where that is known: by the agent's token, or else by
    /// the machine that the call names.
    // SECURITY: a caller writes the machine's name itself. Once anybody has agents of their own, it
    // proves nothing any more.
    #[must_use]
    pub fn requester(&self, call: &Call, owner: Option<&Owner>) -> Option<&NamedPerson> {
        let mut people = self.named.iter();
        if people.clone().all(|person| person.agents.is_empty()) {
            let host = call.host.as_ref()?;
            return people.find(|person| person.hosts.contains(host));
        }
        owner.and_then(Owner::token)?;
        people.find(|person| person.agents.contains(&call.agent))
    }

    /// Whether a group exists: somebody is in it, or it stands for roles.
    #[must_use]
    pub fn has_group(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.name == name) || self.members(name).next().is_some()
    }

    /// The names of those whom the config puts into a group.
    pub fn members<'p>(&'p self, group: &'p str) -> impl Iterator<Item = &'p str> {
        let members = self.named.iter().filter(move |person| person.groups.contains(group));
        members.map(|person| person.name.as_str())
    }

    /// Whether anybody has an identity or a group on this platform.
    #[must_use]
    pub fn are_on(&self, platform: &str) -> bool {
        let has = |ids: &BTreeMap<String, BTreeSet<String>>| {
            ids.get(platform).is_some_and(|ids| !ids.is_empty())
        };
        self.named.iter().any(|person| has(&person.identities))
            || self.groups.iter().any(|group| has(&group.roles))
    }

    /// The platforms on which somebody has an identity or a group.
    #[must_use]
    pub fn platforms(&self) -> BTreeSet<&str> {
        let of_people = self.named.iter().flat_map(|person| person.identities.keys());
        let of_groups = self.groups.iter().flat_map(|group| group.roles.keys());
        of_people.chain(of_groups).map(String::as_str).collect()
    }
}

impl NamedPerson {
    fn has(&self, platform: &str, id: &str) -> bool {
        self.identities.get(platform).is_some_and(|ids| ids.contains(id))
    }
}

impl RoleGroup {
    fn includes(&self, platform: &str, held: &[String]) -> bool {
        let roles = self.roles.get(platform);
        roles.is_some_and(|roles| held.iter().any(|role| roles.contains(role)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn who(platform: &'static str, id: &str, roles: &[&str]) -> Who {
        let roles = roles.iter().map(|&role| role.to_owned()).collect();
        Who { platform, id: id.to_owned(), name: "42".to_owned(), roles }
    }

    #[test]
    fn an_empty_list_means_nobody_on_any_surface() {
        let empty = Approvers::of_chat("discord", Members::default());
        for nobody in [Approvers::default(), empty] {
            for platform in ["telegram", "discord", "inbox", "api", "", "slack"] {
                assert!(nobody.admit(who(platform, "42", &["42"])).is_err(), "{platform}");
                assert!(!nobody.may_answer_on(platform), "{platform}");
            }
            assert!(!nobody.anybody());
        }
    }

    #[test]
    fn only_the_id_on_the_platforms_own_list_counts_and_never_the_name() {
        let approvers = Approvers::of_chat("telegram", Members::people(["42"]));
        assert!(approvers.admit(who("telegram", "42", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "43", &[])).is_err());
        assert!(approvers.admit(who("telegram", "43", &["42"])).is_err());
        assert!(approvers.admit(who("discord", "42", &["42"])).is_err());
        assert!(approvers.may_answer_on("telegram") && !approvers.may_answer_on("discord"));
    }

    #[test]
    fn a_role_admits_its_holders_only() {
        let roles = Members { roles: ["7".to_owned()].into(), ..Members::default() };
        let approvers = Approvers::of_chat("discord", roles);
        assert!(approvers.admit(who("discord", "1", &["6", "7"])).is_ok());
        assert!(approvers.admit(who("discord", "7", &["6"])).is_err());
        assert!(approvers.may_answer_on("discord"));
    }

    #[test]
    fn local_answering_admits_inbox_and_token_when_it_is_on() {
        let approvers = Approvers { local: Local::On, ..Approvers::default() };
        assert!(approvers.admit(who("inbox", "local", &[])).is_ok());
        assert!(approvers.admit(who("api", "token", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "local", &[])).is_err());
    }

    #[test]
    fn a_person_is_one_under_each_identity_and_answers_by_their_name() {
        let ids = [("telegram", "42"), ("discord", "7"), ("api", "sha256:1")];
        let people = People { named: vec![named("Ana", &ids, &[])], ..People::default() };
        let approvers = Approvers { people, ..Approvers::default() };
        for (platform, id) in [("telegram", "42"), ("discord", "7"), ("api", "sha256:1")] {
            let ana = approvers.admit(who(platform, id, &[])).unwrap();
            assert_eq!(ana.person(), Some("Ana"));
            let platform = platform.to_owned();
            let id = id.to_owned();
            let name = "Ana".to_owned();
            assert_eq!(person(&ana), By::Person { platform, id, name });
        }
        assert!(approvers.admit(who("discord", "42", &[])).is_err());
        assert!(approvers.may_answer_on("discord") && approvers.has_chat_approver());
    }

    #[test]
    fn once_people_have_names_nobody_at_this_machine_answers_without_one() {
        let people = People { named: vec![named("local", &[], &[])], ..People::default() };
        let approvers = Approvers { people, ..Approvers::default() };
        for (platform, id) in [("inbox", "local"), ("api", "approver")] {
            assert_eq!(approvers.admit(who(platform, id, &[])), Err(Stranger(NAMELESS)));
        }
        assert!(!approvers.has_chat_approver());
    }

    #[test]
    fn who_has_a_groups_role_may_answer_without_a_name() {
        let roles = BTreeMap::from([("discord".to_owned(), ["7".to_owned()].into())]);
        let groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
        let approvers =
            Approvers { people: People { groups, ..People::default() }, ..Approvers::default() };
        assert_eq!(approvers.admit(who("discord", "1", &["7"])).unwrap().person(), None);
        assert!(approvers.admit(who("discord", "1", &["8"])).is_err());
        assert!(approvers.admit(who("telegram", "1", &["7"])).is_err());
    }

    #[test]
    fn a_list_under_the_name_of_a_local_surface_admits_nobody() {
        for local in ["inbox", "api"] {
            let approvers = Approvers::of_chat(local, Members::people(["local"]));
            assert!(approvers.admit(who(local, "local", &[])).is_err(), "{local}");
        }
    }

    /// Somebody with these identities and groups.
    pub(crate) fn named(name: &str, ids: &[(&str, &str)], groups: &[&str]) -> NamedPerson {
        let mut person = NamedPerson { name: name.to_owned(), ..NamedPerson::default() };
        for (platform, id) in ids {
            let of_platform = person.identities.entry((*platform).to_owned()).or_default();
            of_platform.insert((*id).to_owned());
        }
        person.groups = groups.iter().map(|&group| group.to_owned()).collect();
        person
    }

    fn people() -> People {
        let ana = named("Ana", &[("letters", "1"), ("radio", "11")], &["ops"]);
        let ben = named("Ben", &[("letters", "2")], &[]);
        let roles = BTreeMap::from([("radio".to_owned(), ["7".to_owned()].into())]);
        let leads = RoleGroup { name: "leads".to_owned(), roles };
        People { named: vec![ana, ben], groups: vec![leads] }
    }

    #[test]
    fn two_identities_are_one_person_and_a_name_is_none() {
        let people = people();
        let found = |platform, id| people.find(platform, id).map(|it| it.name.clone());
        assert_eq!(found("letters", "1").unwrap(), "Ana");
        assert_eq!(found("radio", "11").unwrap(), "Ana");
        for (platform, id) in [("letters", "11"), ("radio", "1"), ("letters", "Ana")] {
            assert_eq!(found(platform, id), None, "{platform} {id}");
        }
    }

    #[test]
    fn in_the_inbox_somebody_is_who_they_were_where_they_signed_in() {
        let people = people();
        let found = |id| people.find("inbox", id).map(|it| it.name.clone());
        assert_eq!(found("letters:1").unwrap(), "Ana");
        assert_eq!(found("radio:11").unwrap(), "Ana");
        assert_eq!(found("letters:2").unwrap(), "Ben");
        for id in ["", "local", "Ana", "1", ":1", "letters:", "radio:1", "inbox:letters:1"] {
            assert_eq!(found(id), None, "{id}");
        }
    }

    #[test]
    fn groups_come_from_the_config_and_from_roles_of_their_own_platform() {
        let people = people();
        let groups = |platform, id, role: &str| {
            people.groups_of(platform, id, &[role.to_owned()]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(groups("letters", "1", "7"), ["ops"]);
        assert_eq!(groups("radio", "11", "7"), ["leads", "ops"]);
        assert_eq!(groups("radio", "99", "7"), ["leads"]);
        assert_eq!(groups("radio", "99", "8"), Vec::<String>::new());
        assert!(people.are_on("letters") && !people.are_on("pigeons"));
        assert_eq!(people.platforms().into_iter().collect::<Vec<_>>(), ["letters", "radio"]);
    }

    #[test]
    fn a_stranger_is_told_why_by_where_they_are() {
        let why = |approvers: &Approvers, platform| {
            approvers.admit(who(platform, "1", &[])).unwrap_err().to_string()
        };
        let nobody = Approvers::default();
        for local in ["inbox", "api"] {
            assert!(why(&nobody, local).starts_with("Answering from this machine is off"));
        }
        let listed = "You may not answer this: you are not on the list of approvers.";
        assert_eq!(why(&nobody, "telegram"), listed);
        let named = Approvers { people: people(), ..Approvers::default() };
        assert_eq!([why(&named, "api"), why(&named, "radio")], [NAMELESS, listed]);
    }

    #[test]
    fn who_may_answer_at_all_and_the_roles_that_matter_come_from_lists_people_and_groups() {
        let list = Members { roles: ["9".to_owned(), "7".to_owned()].into(), ..Members::default() };
        let both = Approvers { people: people(), ..Approvers::of_chat("radio", list) };
        assert_eq!(both.roles_on("radio"), ["7", "9"]);
        assert_eq!(both.roles_on("letters"), Vec::<String>::new());
        // Where people have names there is the inbox, in which they sign in.
        assert!(both.may_answer_on("inbox") && !both.answers_nameless());
        let local = Approvers { local: Local::On, ..Approvers::default() };
        assert!(local.may_answer_on("inbox") && local.answers_nameless());
        assert!(local.anybody() && !local.has_chat_approver());
        let chat = Approvers::of_chat("telegram", Members::people(["1"]));
        assert!(chat.anybody() && chat.has_chat_approver() && !chat.may_answer_on("inbox"));
        assert!(!Approvers::of_chat("telegram", Members::default()).has_chat_approver());
        for (key, in_a_chat) in [("api", false), (OIDC, false), ("telegram", true)] {
            let people = People { named: vec![named("Ana", &[(key, "1")], &[])], groups: vec![] };
            let approvers = Approvers { people, ..Approvers::default() };
            assert_eq!((approvers.anybody(), approvers.has_chat_approver()), (true, in_a_chat));
        }
    }

    #[test]
    fn a_group_exists_by_its_members_or_by_its_roles_and_every_token_is_known() {
        let mut people = people();
        assert_eq!(["ops", "leads", "others"].map(|it| people.has_group(it)), [true, true, false]);
        assert_eq!(people.tokens(), []);
        people.named.last_mut().unwrap().token = Some(TokenHash::of("t"));
        assert_eq!(people.tokens(), [TokenHash::of("t")]);
    }

    #[test]
    fn whose_agent_calls_is_known_by_its_token_and_by_its_machine_only_where_nobody_has_agents() {
        let host = |host: &str| Some(host.to_owned());
        let call = |host| Call { host, ..Call::new("bot", "s", "t", serde_json::Value::Null) };
        let token = Owner::by_token("t1");
        let mut team = people();
        team.named.first_mut().unwrap().hosts = ["laptop".to_owned()].into();
        let of = |team: &People, call: &Call, owner: Option<&Owner>| {
            team.requester(call, owner).map(|person| person.name.clone())
        };
        let ana = Some("Ana".to_owned());
        assert_eq!(of(&team, &call(host("laptop")), None), ana);
        assert_eq!(of(&team, &call(host("build-7")), Some(&token)), None);
        assert_eq!(of(&team, &call(None), None), None);
        team.named.first_mut().unwrap().agents = ["bot".to_owned()].into();
        assert_eq!(of(&team, &call(None), Some(&token)), ana);
        assert_eq!(of(&team, &call(host("laptop")), None), None, "it only says that it is");
        assert_eq!(of(&team, &call(None), Some(&Owner::by("unix:agent"))), None);
        let other = Call { agent: "other".to_owned(), ..call(host("laptop")) };
        assert_eq!(of(&team, &other, Some(&token)), None);
    }

    #[test]
    fn quiet_hours_hold_everything_but_what_they_except() {
        let hours = |from: i8, until: i8| Hours {
            from: jiff::civil::time(from, 0, 0, 0),
            until: jiff::civil::time(until, 0, 0, 0),
            days: Vec::new(),
            zone: TimeZone::UTC,
        };
        let hold = |hours, except, critical| QuietHours { hours, except }.hold(critical, 0);
        let night = || hours(0, 6);
        let day = || hours(6, 0);
        assert!(hold(night(), QuietException::Critical, false));
        assert!(!hold(night(), QuietException::Critical, true));
        assert!(hold(night(), QuietException::Nothing, true));
        for critical in [false, true] {
            assert!(!hold(day(), QuietException::Nothing, critical));
        }
    }
}
