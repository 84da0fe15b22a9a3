//! The inbox adapter.
