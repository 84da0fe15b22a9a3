//! countersign.
