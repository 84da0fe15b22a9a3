//! The people of countersign: who may answer, how many have to, who is on duty and who is shown what;
//! and what an attempt to answer comes to.
//!
//! INVARIANT: pure. No I/O, no store, no clock; time, roles and who is absent are arguments.

pub mod answer;
pub mod answerers;
pub mod approvers;
pub mod duty;
pub mod quorum;
pub mod routes;
pub mod rules;
