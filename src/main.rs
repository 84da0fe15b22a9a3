//! countersign.
fn main() {}
