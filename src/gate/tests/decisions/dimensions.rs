//! The dimensions of the table, and the combinations that it has.

use std::collections::BTreeSet;

macro_rules! dimension {
    ($(#[$doc:meta])* $name:ident { $($(#[$why:meta])* $value:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$why])* $value),+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$value),+];
        }
    };
}

dimension! {
    /// What the agent wants.
    Kind {
        Read,
        Change,
        /// A plain command together with one of which nobody has heard.
        Half,
        Mcp,
        Plan,
        Question,
        Critical,
        /// The bridge's own program.
        Guardrail,
        /// A budget of plain calls.
        Ahead,
        AheadCritical,
    }
}

dimension! {
    /// What the operator wrote.
    Rule {
        /// The rules of a new installation.
        Defaults,
        /// Everything, by a wildcard.
        Allow,
        /// What `Change` and `Mcp` do, by name.
        Named,
        Ask,
        Deny,
        /// The defaults, and an answer rule: two of a group.
        Two,
        /// The wildcard, and that answer rule.
        AllowTwo,
    }
}

dimension! {
    /// What a person granted before, of the same call (of its first half for `Half`).
    Granted {
        Nothing,
        Session,
        Timed,
        Always,
        /// With the answer rule in force, by two of the group.
        ByTwo,
        /// `TOOL: *` for the session, which no card offers for commands.
        Wide,
        OtherSession,
        OtherAgent,
        /// The same names with another session secret.
        OtherOwner,
        Revoked,
        Undone,
        TimedOver,
        SessionEnded,
        AlwaysRevoked,
        /// A person said in a review that such calls should ask.
        Reviewed,
    }
}

dimension! {
    /// The mode.
    Mode {
        Default,
        SessionYolo,
        ConfiguredYolo,
        /// The session's own, where yolo is configured.
        OwnDefault,
        /// The agent's own mode, in which it only reads.
        AgentPlans,
    }
}

dimension! {
    /// The agent's own token.
    Token {
        Nothing,
        Named,
        /// None, under the name of an agent that has one.
        Taken,
        /// A limit has paused its agent.
        Paused,
        /// One ask less than it would take is open.
        OverLimit,
        OtherProfile,
        /// Its asks are shown at one target.
        Target,
        TargetGone,
        Revoked,
        Expired,
    }
}

dimension! {
    /// A budget that was approved.
    Budget { Nothing, Fitting, Spent, Over, OfAnotherCall }
}

dimension! {
    /// What was before.
    Before {
        Nothing,
        /// A person has denied the same call a moment ago.
        Denied,
        /// The same key has an open ask.
        SameKey,
    }
}

dimension! {
    /// The kill switch.
    Pause { Nothing, Hold, Deny }
}

/// One line of the table; its columns are the pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Combination {
    pub kind: Kind,
    pub rule: Rule,
    pub granted: Granted,
    pub mode: Mode,
    pub token: Token,
    pub budget: Budget,
    pub before: Before,
}

impl Combination {
    const PLAIN: Self = Self {
        kind: Kind::Change,
        rule: Rule::Defaults,
        granted: Granted::Nothing,
        mode: Mode::Default,
        token: Token::Nothing,
        budget: Budget::Nothing,
        before: Before::Nothing,
    };

    /// All combinations of the table: every kind of call and every rule with each value of the
    /// other dimensions, and those with each other where they meet in one call.
    pub fn all() -> BTreeSet<Self> {
        use Kind::{Ahead, Change, Critical, Guardrail, Half, Mcp, Question, Read};
        let mut all = BTreeSet::new();
        for &kind in Kind::ALL {
            for &rule in Rule::ALL {
                let plain = Self { kind, rule, ..Self::PLAIN };
                let is_one_of = |kinds: &[Kind]| kinds.contains(&kind);
                all.extend(Before::ALL.iter().map(|&before| Self { before, ..plain }));
                all.extend(Mode::ALL.iter().map(|&mode| Self { mode, ..plain }));
                let granted: &[Granted] = match kind {
                    Read | Change | Half | Mcp | Question | Critical => Granted::ALL,
                    _ => &[Granted::Session, Granted::Always, Granted::Wide, Granted::Reviewed],
                };
                all.extend(granted.iter().map(|&granted| Self { granted, ..plain }));
                if is_one_of(&[Change, Question, Critical, Guardrail, Ahead]) {
                    all.extend(Token::ALL.iter().map(|&token| Self { token, ..plain }));
                }
                if is_one_of(&[Read, Change, Mcp, Critical, Guardrail]) {
                    all.extend(Budget::ALL.iter().map(|&budget| Self { budget, ..plain }));
                }
                if is_one_of(&[Change, Critical]) {
                    for granted in [Granted::Session, Granted::Always, Granted::Wide] {
                        let with = Self { granted, ..plain };
                        all.extend(Mode::ALL.iter().map(|&mode| Self { mode, ..with }));
                    }
                }
            }
        }
        for rule in [Rule::Defaults, Rule::Allow, Rule::Two] {
            Self { rule, ..Self::PLAIN }.meeting(&mut all);
        }
        Self { kind: Critical, ..Self::PLAIN }.meeting(&mut all);
        all
    }

    /// A grant, a mode, a token, a budget and what was before, each with each.
    fn meeting(self, all: &mut BTreeSet<Self>) {
        for granted in [Granted::Nothing, Granted::Session] {
            for mode in [Mode::Default, Mode::SessionYolo] {
                for token in [Token::Nothing, Token::Paused, Token::Target] {
                    for budget in [Budget::Nothing, Budget::Fitting] {
                        for &before in Before::ALL {
                            all.insert(Self { granted, mode, token, budget, before, ..self });
                        }
                    }
                }
            }
        }
    }
}
