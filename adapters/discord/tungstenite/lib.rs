//! The API of tokio-tungstenite 0.21 that serenity uses, served by 0.24. Why: see `Cargo.toml`.
pub use current::*;
