//! countersign: the approval bridge between AI agents and the people who answer for them.
//!
//! One daemon stands between agents and people. Agents submit **calls**; policy decides them; a
//! call that needs a person becomes an **ask**; asks appear as **cards** in chats; a **press** by
//! an **approver** becomes the ask's **answer**, which the agent receives.
//!
//! Arrows run one way: `cli → daemon → api, bridge → gate → people, profiles, store → domain`,
//! `cli → agents → client`, and `bridge → port ← adapters`. The code keeps these promises:
//!
//! - [`policy`] and [`people`] are pure. Only [`store`] contains SQL. Only an adapter crate
//!   knows its platform; adapters never decide.
//! - A verdict is never a bool and has no default. An error during evaluation is ask or deny, never
//!   allow.
//! - The waiter is registered before the card is sent; the answer is committed before the presser
//!   gets a reply; the reply states what the row contains.
//! - One function answers for every surface: [`gate::Gate::answer`].
//! - No secret is in a card, a log, an argument or an error.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod platforms;

pub use countersign_agents as agents;
pub use countersign_bridge as bridge;
pub use countersign_client as client;
pub use countersign_domain as ask;
pub use countersign_domain::log as audit;
pub use countersign_domain::wire as protocol;
pub use countersign_gate as gate;
pub use countersign_people as people;
pub use countersign_policy as policy;
pub use countersign_profiles as profiles;
pub use countersign_store as store;
pub use countersign_tokens::{clock, ids, proof, secret};
pub use countersign_web as web;
