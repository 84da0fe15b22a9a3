//! The telegram adapter.
