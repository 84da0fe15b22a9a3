//! The steps that an answer takes, and the promises that hold in every state they can lead to.

use super::row::{DEADLINE, Decided, End, Row, Wish};
use countersign::gate::ask::Decision;
use stateright::{Model, Property};

pub const ONE_ANSWER: &str = "1. an ask has at most one answer, and it stays";
pub const AGENT_GETS_IT: &str = "2. the agent gets what the row says";
pub const TOLD_IS_TRUE: &str = "3. what a presser is told is what the row says";
pub const NOT_BY_ITSELF: &str = "4. nothing is approved that nobody approved";
pub const NOT_LATE: &str = "5. no person's answer is later than the deadline";
pub const NO_PRESS_IS_LOST: &str = "6. a press that its platform keeps is told its end";
pub const ALL_ENDS: &str = "7. the ask ends, its agent gets the answer, its card shows it";

/// What has to be possible, lest a promise holds because nothing happens.
pub const CAN_BE: [&str; 4] = [
    "a person answers",
    "the deadline wins",
    "an answer outlives a crash before anybody is told",
    "a loser is told who won",
];

/// The order of steps. Only one is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Right,
    /// The waiter reads the row before it registers.
    ReadThenRegister,
    /// The presser is told before the commit.
    TellThenCommit,
    /// The commit does not look at the row.
    CommitUnseen,
    /// The platform is told to forget the press before it is handled.
    ConfirmThenHandle,
    /// The card counts as drawn before it is.
    NoteThenDraw,
}

/// Who does what.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The wish of each presser. The first one's platform brings a press again that was not
    /// confirmed (Telegram), the others' do not (Discord).
    pub presses: Vec<Wish>,
    /// How often the daemon may die.
    pub crashes: u8,
    /// Whether the agent may take its ask back.
    pub leaves: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { presses: vec![], crashes: 2, leaves: false }
    }
}

/// The model.
#[derive(Debug, Clone)]
pub struct Path {
    order: Order,
    plan: Plan,
}

/// Everything, durable and not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    clock: i64,
    up: bool,
    crashes: u8,
    /// Durable.
    row: Row,
    /// Durable: the version that the card row says is drawn.
    noted: i64,
    /// On the platform: the version that the card shows.
    drawn: i64,
    /// The outbox, between drawing and noting (or the other way round).
    drawing: Option<i64>,
    reaper: Step,
    /// What takes the ask back whose agent left.
    parting: Step,
    hands: Vec<Hand>,
    agent: Agent,
    /// The waiter's oneshot has fired.
    woken: bool,
    /// Every end that was ever committed.
    ends: Vec<End>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Hand {
    step: Step,
    /// What the platform still holds of the press.
    kept: bool,
    told: Vec<String>,
}

/// Where a press, or the reaper, stands inside the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    /// Not begun, or to begin again.
    Idle,
    /// It came in.
    Came,
    /// The row as it was read.
    Read(Row),
    /// What it comes to, on the version that was read.
    Decided(i64, Decided),
    /// Committed; the waiter is still asleep.
    Won,
    /// The presser is still to be told this.
    Telling(String),
    Done,
    /// The platform lost it.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Agent {
    Away,
    /// It has read an open row and is not registered yet. Only a wrong order does this.
    ReadOpen,
    Registered,
    Waiting,
    Got(End),
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    Tick,
    Crash,
    Restart,
    Press(usize),
    Go(usize),
    Reap,
    Draw,
    Note,
    Attend,
    Leave,
    Part,
}

impl Path {
    pub fn new(order: Order, plan: Plan) -> Self {
        Self { order, plan }
    }

    fn wish(&self, hand: usize) -> Wish {
        self.plan.presses[hand]
    }

    /// One step of a press inside the daemon.
    fn go(&self, world: &mut World, n: usize) {
        let step = world.hands[n].step.clone();
        let next = match step {
            Step::Came => {
                if self.order == Order::ConfirmThenHandle {
                    world.hands[n].kept = false;
                }
                Step::Read(world.row.clone())
            }
            Step::Read(seen) => match seen.decide(n, self.wish(n), world.clock) {
                Decided::Refused(words) => Step::Telling(words),
                decided => {
                    if self.order == Order::TellThenCommit {
                        world.hands[n].told.push(applied(self.wish(n)));
                    }
                    Step::Decided(seen.version, decided)
                }
            },
            Step::Decided(seen, decided) => self.commit(world, n, seen, &decided),
            Step::Won => {
                wake(world);
                match self.order {
                    Order::TellThenCommit => Step::Done,
                    _ => Step::Telling(applied(self.wish(n))),
                }
            }
            Step::Telling(words) => {
                world.hands[n].told.push(words);
                world.hands[n].kept = false;
                Step::Done
            }
            Step::Idle | Step::Done | Step::Lost => return,
        };
        world.hands[n].step = next;
    }

    fn commit(&self, world: &mut World, n: usize, seen: i64, decided: &Decided) -> Step {
        let blind = self.order == Order::CommitUnseen;
        if !blind && !world.row.takes(seen, decided) {
            // Somebody was first: it is read again.
            return Step::Came;
        }
        world.row = world.row.with(decided);
        match decided {
            Decided::Close(end) => {
                world.ends.push(end.clone());
                match end {
                    End::Answered { .. } => Step::Won,
                    // Late: the gate expired it itself, wakes, and tells what the row says now.
                    _ => {
                        wake(world);
                        Step::Telling(world.row.too_late().unwrap_or_default())
                    }
                }
            }
            _ => Step::Telling(applied(self.wish(n))),
        }
    }

    fn reap(&self, world: &mut World) {
        let step = world.reaper.clone();
        world.reaper = match step {
            Step::Idle => Step::Read(world.row.clone()),
            Step::Read(seen) => {
                let decided = Decided::Close(End::Expired { at: world.clock });
                if world.row.takes(seen.version, &decided) {
                    world.row = world.row.with(&decided);
                    world.ends.push(End::Expired { at: world.clock });
                    Step::Won
                } else {
                    Step::Idle
                }
            }
            _ => {
                wake(world);
                Step::Done
            }
        };
    }

    /// Takes the ask back as it was read, or reads it again.
    fn part(&self, world: &mut World) {
        let decided = Decided::Close(End::Cancelled { at: world.clock });
        world.parting = match world.parting.clone() {
            Step::Came if world.row.end.is_none() => Step::Read(world.row.clone()),
            Step::Read(seen) if world.row.takes(seen.version, &decided) => {
                world.row = world.row.with(&decided);
                world.ends.push(End::Cancelled { at: world.clock });
                Step::Done
            }
            Step::Read(_) => Step::Came,
            _ => Step::Done,
        };
    }

    fn attend(&self, world: &mut World) {
        world.agent = match (&world.agent, &world.row.end) {
            (Agent::Away, Some(end)) if self.order == Order::ReadThenRegister => {
                Agent::Got(end.clone())
            }
            (Agent::Away, None) if self.order == Order::ReadThenRegister => Agent::ReadOpen,
            (Agent::ReadOpen, _) => Agent::Waiting,
            (Agent::Registered, Some(end)) => Agent::Got(end.clone()),
            (Agent::Registered, None) => Agent::Waiting,
            // Away, or woken: register, then read.
            _ => {
                world.woken = false;
                Agent::Registered
            }
        };
    }

    fn crash(&self, world: &mut World) {
        (world.up, world.crashes) = (false, world.crashes + 1);
        (world.reaper, world.drawing, world.woken) = (Step::Idle, None, false);
        world.parting = Step::Idle;
        if !matches!(world.agent, Agent::Got(_) | Agent::Left) {
            world.agent = Agent::Away;
        }
        for hand in &mut world.hands {
            hand.step = match (&hand.step, hand.kept) {
                (Step::Idle | Step::Done, _) => continue,
                // Its platform brings it again.
                (_, true) => Step::Came,
                (_, false) => Step::Lost,
            };
        }
    }
}

fn wake(world: &mut World) {
    world.woken = matches!(world.agent, Agent::Registered | Agent::Waiting);
}

/// What the winner is told. Choices are noted, not applied.
fn applied(wish: Wish) -> String {
    match wish {
        Wish::Approve => "approved by you",
        Wish::Deny => "denied by you",
        Wish::Submit => "answered by you",
        Wish::Choose(_) => "noted",
    }
    .to_owned()
}

impl Model for Path {
    type State = World;
    type Action = Deed;

    fn init_states(&self) -> Vec<World> {
        let question = self.plan.presses.iter().any(|wish| matches!(wish, Wish::Choose(_)));
        let hand = Hand { step: Step::Idle, kept: false, told: vec![] };
        vec![World {
            clock: 0,
            up: true,
            crashes: 0,
            row: Row::open(question),
            noted: 0,
            drawn: 0,
            drawing: None,
            reaper: Step::Idle,
            parting: Step::Idle,
            hands: vec![hand; self.plan.presses.len()],
            agent: Agent::Away,
            woken: false,
            ends: vec![],
        }]
    }

    fn actions(&self, world: &World, deeds: &mut Vec<Deed>) {
        if world.clock <= DEADLINE {
            deeds.push(Deed::Tick);
        }
        for (n, hand) in world.hands.iter().enumerate() {
            match hand.step {
                Step::Idle if world.drawn > 0 => deeds.push(Deed::Press(n)),
                Step::Idle | Step::Done | Step::Lost => {}
                _ if world.up => deeds.push(Deed::Go(n)),
                _ => {}
            }
        }
        if !world.up {
            return deeds.push(Deed::Restart);
        }
        if world.crashes < self.plan.crashes {
            deeds.push(Deed::Crash);
        }
        let overdue = world.clock >= DEADLINE && world.row.end.is_none();
        if (overdue && world.reaper == Step::Idle)
            || matches!(world.reaper, Step::Read(_) | Step::Won)
        {
            deeds.push(Deed::Reap);
        }
        match world.drawing {
            Some(_) => deeds.push(Deed::Note),
            None if world.noted < world.row.version => deeds.push(Deed::Draw),
            None => {}
        }
        match world.agent {
            Agent::Waiting if !world.woken => {}
            Agent::Got(_) | Agent::Left => {}
            _ => deeds.push(Deed::Attend),
        }
        if self.plan.leaves && world.agent == Agent::Waiting {
            deeds.push(Deed::Leave);
        }
        if matches!(world.parting, Step::Came | Step::Read(_)) {
            deeds.push(Deed::Part);
        }
    }

    fn next_state(&self, world: &World, deed: Deed) -> Option<World> {
        let mut next = world.clone();
        match deed {
            Deed::Tick => next.clock += 1,
            Deed::Crash => self.crash(&mut next),
            Deed::Restart => next.up = true,
            Deed::Press(n) => {
                // Only a platform that keeps presses brings one to a daemon that was away.
                let kept = n == 0;
                let step = if kept || world.up { Step::Came } else { Step::Lost };
                (next.hands[n].step, next.hands[n].kept) = (step, kept);
            }
            Deed::Go(n) => self.go(&mut next, n),
            Deed::Reap => self.reap(&mut next),
            Deed::Draw => {
                next.drawing = Some(world.row.version);
                match self.order {
                    Order::NoteThenDraw => next.noted = world.row.version,
                    _ => next.drawn = world.row.version,
                }
            }
            Deed::Note => {
                let version = next.drawing.take()?;
                match self.order {
                    Order::NoteThenDraw => next.drawn = version,
                    _ => next.noted = version,
                }
            }
            Deed::Attend => self.attend(&mut next),
            Deed::Leave => (next.agent, next.parting) = (Agent::Left, Step::Came),
            Deed::Part => self.part(&mut next),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(ONE_ANSWER, |_, world: &World| {
                world.ends.len() <= 1 && world.row.end == world.ends.first().cloned()
            }),
            Property::always(AGENT_GETS_IT, |_, world: &World| match &world.agent {
                Agent::Got(end) => world.row.end.as_ref() == Some(end),
                _ => true,
            }),
            Property::always(TOLD_IS_TRUE, told_is_true),
            Property::always(NOT_BY_ITSELF, |path: &Self, world: &World| match &world.row.end {
                Some(End::Answered {
                    by, decision: Decision::Approve | Decision::Answer, ..
                }) => {
                    matches!(path.wish(*by), Wish::Approve | Wish::Submit)
                }
                _ => true,
            }),
            Property::always(NOT_LATE, |_, world: &World| match &world.row.end {
                Some(End::Answered { at, .. }) => *at < DEADLINE,
                _ => true,
            }),
            Property::always(NO_PRESS_IS_LOST, |_, world: &World| {
                world.hands.first().is_none_or(|hand| hand.step != Step::Lost)
            }),
            Property::always(ALL_ENDS, |path: &Self, world: &World| {
                let mut deeds = Vec::new();
                path.actions(world, &mut deeds);
                let reached = matches!(world.agent, Agent::Got(_) | Agent::Left);
                let shown = world.drawn == world.row.version;
                !deeds.is_empty() || (world.row.end.is_some() && reached && shown)
            }),
            Property::sometimes(CAN_BE[0], |_, world: &World| {
                matches!(world.row.end, Some(End::Answered { .. }))
            }),
            Property::sometimes(CAN_BE[1], |_, world: &World| {
                matches!(world.row.end, Some(End::Expired { .. }))
            }),
            Property::sometimes(CAN_BE[3], |_, world: &World| {
                let mut told = world.hands.iter().flat_map(|hand| &hand.told);
                told.any(|words| world.row.too_late().as_ref() == Some(words))
            }),
        ];
        if self.plan.crashes > 0 {
            properties.push(Property::sometimes(CAN_BE[2], |_, world: &World| {
                let nobody = world.hands.iter().all(|hand| hand.told.is_empty());
                matches!(world.row.end, Some(End::Answered { .. })) && !world.up && nobody
            }));
        }
        properties
    }
}

/// Those who were told that they answered did; everybody else was told the row's state, or why
/// their press cannot be done.
fn told_is_true(path: &Path, world: &World) -> bool {
    let mut all = world.hands.iter().enumerate();
    all.all(|(n, hand)| {
        hand.told.iter().all(|words| match (&world.row.end, words.ends_with("by you")) {
            (Some(End::Answered { by, .. }), true) => *by == n && *words == applied(path.wish(n)),
            (_, true) => false,
            (Some(_), false) => {
                world.row.too_late().as_ref() == Some(words) || is_about_the_press(words)
            }
            (None, false) => is_about_the_press(words),
        })
    })
}

fn is_about_the_press(words: &str) -> bool {
    words == "noted" || words.starts_with("Nothing is chosen yet")
}
