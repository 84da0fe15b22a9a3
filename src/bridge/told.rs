//! What the gate says of an attempt to answer, in the adapters' words.

use countersign_gate::Told;
use countersign_port::Outcome;

/// The same in the contract's words.
pub(super) fn outcome(told: Told) -> Outcome {
    match told {
        Told::Applied => Outcome::Applied,
        Told::Noted | Told::Voted | Told::Unfit => Outcome::Noted,
        Told::TextWanted => Outcome::TextWanted,
        Told::Already => Outcome::AlreadyAnswered,
        Told::Expired => Outcome::Expired,
        Told::Cancelled => Outcome::Cancelled,
        Told::NotAllowed => Outcome::NotAllowed,
        Told::Unknown => Outcome::Unknown,
        Told::Fault => Outcome::Fault,
    }
}
