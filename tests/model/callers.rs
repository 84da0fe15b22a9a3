//! Callers of one ask at two daemons, who come, drop their lines, are let go and come back, while
//! daemons die. What a daemon does when its last caller is gone is said by the real function.

use countersign::gate::attached::{AttachedDaemons, OnDetach};
use stateright::{Model, Property};

pub const WAITS: &str = "1. an ask that a caller waits for is not cancelled";
pub const REUNION: &str =
    "2. the callers of a dead daemon find their ask when they come back in time";
pub const ENDS: &str = "3. an ask that nobody waits for any more is cancelled";

/// What has to be possible, lest a promise holds because nothing happens.
pub const CAN_BE: [&str; 3] = [
    "callers wait at both daemons",
    "the last daemon takes the ask back",
    "a daemon takes the ask of a dead one back",
];

const NAMES: [&str; 2] = ["one", "two"];

/// How it is done. Only one is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Right,
    /// Who comes does not wait for a detachment under way.
    ComeMeanwhile,
    /// Only the daemon at which a caller was seen last counts.
    LastSeen,
    /// A daemon that is dead does not count from that moment on.
    DeadAtOnce,
    /// A daemon that is dead counts for ever.
    DeadForEver,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Callers {
    pub order: Order,
    /// How often each caller may come.
    pub visits: u8,
    /// How many daemons may die.
    pub deaths: u8,
    /// Whether a caller may be told that the ask is still open, and go.
    pub lets_go: bool,
}

/// Everything, durable and not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// Durable.
    attached: AttachedDaemons,
    /// Durable.
    taken_back: bool,
    daemons: [Daemon; 2],
    callers: [Caller; 2],
    /// How often each has come.
    visits: [u8; 2],
    /// What a promise says must not have happened.
    waited_in_vain: bool,
    not_found: bool,
    by_another: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Daemon {
    life: Life,
    /// The detachments of callers, in the order in which they left.
    detachments: Vec<Step>,
    orphans: Option<AttachedDaemons>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    Up,
    /// Its callers may be on their way back.
    Dead,
    /// They had the time to come back.
    Gone,
}

/// Where a parting stands; true: its caller left without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    Grace(bool),
    /// Nobody waits here.
    Checked(bool),
    Read(bool, AttachedDaemons),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Caller {
    /// Its line broke, or it has not come yet.
    Away,
    /// It waited at a daemon that died.
    Orphaned,
    /// It counts as there, and has not read the row.
    Came(usize),
    Read(usize, AttachedDaemons),
    Waits(usize),
    /// It was told that the ask is still open.
    LetGo,
    Told,
    /// It will not come back.
    Ended,
}

impl Caller {
    fn is_at(&self, daemon: usize) -> bool {
        matches!(self, Self::Came(at) | Self::Read(at, _) | Self::Waits(at) if *at == daemon)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    Come(usize, usize),
    Go(usize),
    Drop(usize),
    LetGo(usize),
    End(usize),
    Part(usize, usize),
    Orphans(usize),
    Die(usize),
    Silence(usize),
}

impl Callers {
    /// A caller at a daemon takes its next step.
    fn go(&self, world: &mut World, caller: usize) {
        let next = match world.callers[caller].clone() {
            Caller::Came(_) | Caller::Waits(_) if world.taken_back => Caller::Told,
            Caller::Came(at) if world.attached.has(NAMES[at]) => Caller::Waits(at),
            Caller::Came(at) => Caller::Read(at, world.attached.clone()),
            Caller::Read(at, seen) if !world.taken_back && world.attached == seen => {
                world.attached = match self.order {
                    Order::LastSeen => AttachedDaemons::default().with(NAMES[at]),
                    _ => seen.with(NAMES[at]),
                };
                Caller::Waits(at)
            }
            Caller::Read(at, _) => Caller::Came(at),
            other => other,
        };
        world.callers[caller] = next;
    }

    /// A caller is at its daemon no more.
    fn gone(world: &mut World, caller: usize, left: bool, then: Caller) {
        for at in 0..2 {
            let here = world.callers[caller].is_at(at);
            let others = world.callers[1 - caller].is_at(at);
            if here && !others && !world.taken_back {
                world.daemons[at].detachments.push(Step::Grace(left));
            }
        }
        world.callers[caller] = then;
    }

    fn is_alive(&self, world: &World, name: &str) -> bool {
        let at = NAMES.iter().position(|daemon| *daemon == name).unwrap();
        match (world.daemons[at].life, self.order) {
            (Life::Up, _) => true,
            (Life::Dead, order) => order != Order::DeadAtOnce,
            (Life::Gone, order) => order == Order::DeadForEver,
        }
    }

    fn part(&self, world: &mut World, at: usize, n: usize) {
        let attended = world.callers.iter().any(|caller| caller.is_at(at));
        let next = match world.daemons[at].detachments[n].clone() {
            Step::Grace(left) if !attended => Some(Step::Checked(left)),
            Step::Grace(_) => None,
            Step::Checked(_) if world.taken_back => None,
            Step::Checked(left) => Some(Step::Read(left, world.attached.clone())),
            Step::Read(left, seen) => {
                let alive = |name: &str| self.is_alive(world, name);
                let unchanged = world.attached == seen && !world.taken_back;
                match seen.on_detach(NAMES[at], left, alive) {
                    OnDetach::Nothing => None,
                    _ if !unchanged => Some(Step::Grace(left)),
                    OnDetach::Note(attached) => {
                        world.attached = attached;
                        None
                    }
                    OnDetach::Cancel => {
                        take_back(world);
                        None
                    }
                }
            }
        };
        match next {
            Some(step) => world.daemons[at].detachments[n] = step,
            None => drop(world.daemons[at].detachments.remove(n)),
        }
    }

    /// Looks for what was kept by daemons that are gone, then takes it back if it stands as seen.
    fn orphans(&self, world: &mut World, at: usize) {
        match world.daemons[at].orphans.take() {
            None => world.daemons[at].orphans = Some(world.attached.clone()),
            Some(seen) if seen == world.attached && !world.taken_back => {
                take_back(world);
                world.by_another = true;
            }
            Some(_) => {}
        }
    }

    /// As the store's query says.
    fn is_orphaned(&self, world: &World, at: usize) -> bool {
        let kept_by = |name: &&&str| world.attached.has(name);
        !world.taken_back
            && world.attached != AttachedDaemons::default()
            && !world.attached.has(NAMES[at])
            && !NAMES.iter().filter(kept_by).any(|name| self.is_alive(world, name))
    }
}

fn take_back(world: &mut World) {
    world.taken_back = true;
    world.waited_in_vain = world.callers.iter().any(|caller| matches!(caller, Caller::Waits(_)));
    world.not_found = world.callers.contains(&Caller::Orphaned);
}

impl Model for Callers {
    type State = World;
    type Action = Deed;

    fn init_states(&self) -> Vec<World> {
        // The first caller's call was stored as kept by the first daemon, where it waits.
        let daemon = Daemon { life: Life::Up, detachments: vec![], orphans: None };
        vec![World {
            attached: AttachedDaemons::default().with(NAMES[0]),
            taken_back: false,
            daemons: [daemon.clone(), daemon],
            callers: [Caller::Came(0), Caller::Away],
            visits: [1, 0],
            waited_in_vain: false,
            not_found: false,
            by_another: false,
        }]
    }

    fn actions(&self, world: &World, deeds: &mut Vec<Deed>) {
        for (n, caller) in world.callers.iter().enumerate() {
            match caller {
                Caller::Away | Caller::Orphaned | Caller::LetGo => {
                    deeds.push(Deed::End(n));
                    let up = |at: &usize| world.daemons[*at].life == Life::Up;
                    if world.visits[n] < self.visits {
                        deeds.extend((0..2).filter(up).map(|at| Deed::Come(n, at)));
                    }
                }
                Caller::Came(_) | Caller::Read(..) => deeds.extend([Deed::Go(n), Deed::Drop(n)]),
                Caller::Waits(_) => {
                    deeds.push(Deed::Drop(n));
                    deeds.extend(world.taken_back.then_some(Deed::Go(n)));
                    deeds.extend(self.lets_go.then_some(Deed::LetGo(n)));
                }
                Caller::Told | Caller::Ended => {}
            }
        }
        let deaths = world.daemons.iter().filter(|daemon| daemon.life != Life::Up).count();
        for (at, daemon) in world.daemons.iter().enumerate() {
            match daemon.life {
                Life::Up if deaths < usize::from(self.deaths) => deeds.push(Deed::Die(at)),
                // Callers try for a shorter time than a daemon's silence counts as its end.
                Life::Dead if !world.callers.contains(&Caller::Orphaned) => {
                    deeds.push(Deed::Silence(at));
                }
                _ => {}
            }
            let under_way = |step: &Step| !matches!(step, Step::Grace(_));
            let busy = daemon.detachments.iter().position(under_way);
            let waiting = 0..daemon.detachments.len();
            deeds.extend(
                waiting.filter(|n| busy.is_none_or(|b| b == *n)).map(|n| Deed::Part(at, n)),
            );
            if daemon.life == Life::Up && (daemon.orphans.is_some() || self.is_orphaned(world, at))
            {
                deeds.push(Deed::Orphans(at));
            }
        }
    }

    fn next_state(&self, world: &World, deed: Deed) -> Option<World> {
        let mut next = world.clone();
        match deed {
            Deed::Come(n, at) => {
                next.visits[n] += 1;
                next.callers[n] = Caller::Came(at);
            }
            Deed::Go(n) => {
                let Caller::Came(at) = world.callers[n] else {
                    self.go(&mut next, n);
                    return Some(next);
                };
                let under_way = |step: &Step| !matches!(step, Step::Grace(_));
                let meanwhile = world.daemons[at].detachments.iter().any(under_way);
                if meanwhile && self.order != Order::ComeMeanwhile {
                    return None;
                }
                self.go(&mut next, n);
            }
            Deed::Drop(n) => Self::gone(&mut next, n, true, Caller::Away),
            Deed::LetGo(n) => Self::gone(&mut next, n, false, Caller::LetGo),
            Deed::End(n) => next.callers[n] = Caller::Ended,
            Deed::Part(at, n) => self.part(&mut next, at, n),
            Deed::Orphans(at) => self.orphans(&mut next, at),
            Deed::Die(at) => {
                next.daemons[at] = Daemon { life: Life::Dead, detachments: vec![], orphans: None };
                for caller in next.callers.iter_mut().filter(|caller| caller.is_at(at)) {
                    let waits = *caller == Caller::Waits(at);
                    *caller = if waits { Caller::Orphaned } else { Caller::Away };
                }
            }
            Deed::Silence(at) => next.daemons[at].life = Life::Gone,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(WAITS, |_, world: &World| !world.waited_in_vain),
            Property::always(REUNION, |_, world: &World| !world.not_found),
            Property::sometimes(
                CAN_BE[0],
                |_, world: &World| matches!(world.callers, [Caller::Waits(one), Caller::Waits(other)] if one != other),
            ),
            Property::sometimes(CAN_BE[1], |_, world: &World| {
                world.taken_back && !world.by_another
            }),
        ];
        if self.deaths > 0 {
            properties.push(Property::sometimes(CAN_BE[2], |_, world: &World| world.by_another));
        }
        if !self.lets_go {
            properties.push(Property::always(ENDS, |path: &Self, world: &World| {
                let mut deeds = Vec::new();
                path.actions(world, &mut deeds);
                let somebody = world.daemons.iter().any(|daemon| daemon.life == Life::Up);
                !deeds.is_empty() || world.taken_back || !somebody
            }));
        }
        properties
    }
}
