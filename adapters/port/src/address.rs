//! Where cards go and where they are, in the adapter's own spelling.

use serde::{Deserialize, Serialize};

/// Where cards go, in the adapter's own canonical spelling (such as `-100123/7`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub String);

/// A posted message, in the adapter's own spelling. The core stores it and compares it, no more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageRef(pub String);
