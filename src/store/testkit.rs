//! Fresh stores on each engine, and faults to inject.

pub mod engines;
pub mod faults;
