//! `config.json`, as far as approvals are concerned.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent_mode::AgentMode;
use countersign_policy::rules::suggest::nearest;

/// The tools that are dangerous by default.
pub const DANGEROUS: [&str; 3] = ["shell", "write_file", "edit_file"];

/// The approval policy in the words of a configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalPolicyConfig {
    /// Every tool runs without approval.
    #[default]
    AlwaysAllow,
    /// Every call needs approval.
    AlwaysRequire,
    /// The tools in `require_for` need approval.
    RequireForTools,
    /// The tools in `dangerous_tools` need approval.
    RequireForDangerous,
}

/// The `approval` section of `config.json`.
///
/// Its default is that of the system's document: disabled. A file that the daemon reads starts from
/// [`ApprovalConfig::careful`] instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
// FAIL-CLOSED: `enable` instead of `enabled` would leave the gate as it was.
#[serde(default, deny_unknown_fields)]
pub struct ApprovalConfig {
    /// The main switch; without it no tool needs approval, whatever the policy.
    pub enabled: bool,
    /// The policy.
    pub policy: ApprovalPolicyConfig,
    /// Tools that need approval under `RequireForTools`.
    pub require_for: Vec<String>,
    /// Tools that need approval under `RequireForDangerous`; a list here replaces the default one.
    pub dangerous_tools: Vec<String>,
    /// Seconds without an answer after which the call is approved; 0 waits without limit.
    pub auto_approve_timeout_secs: u64,
}

/// The settings of a `config.json` for approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeptoclawSettings {
    /// The `approval` section.
    pub approval: ApprovalConfig,
    /// `agent_mode.mode`.
    pub mode: AgentMode,
    /// The problem with the file's mode, if another mode is used instead.
    pub doubt: Option<String>,
}

impl Default for ApprovalConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            policy: ApprovalPolicyConfig::AlwaysAllow,
            require_for: Vec::new(),
            dangerous_tools: DANGEROUS.map(str::to_owned).into(),
            auto_approve_timeout_secs: 0,
        }
    }
}

impl ApprovalConfig {
    /// Returns the system's defaults since March 2026: enabled, for the dangerous tools and
    /// `google`.
    #[must_use]
    pub fn careful() -> Self {
        let google = std::iter::once("google".to_owned());
        let listed = Self::default().dangerous_tools;
        Self {
            enabled: true,
            policy: ApprovalPolicyConfig::RequireForDangerous,
            dangerous_tools: listed.into_iter().chain(google).collect(),
            ..Self::default()
        }
    }

    /// Reads a section; missing settings are taken from `silent`.
    ///
    /// # Errors
    /// A sentence about an unknown key or value.
    pub fn over(silent: Self, section: &Value) -> Result<Self, String> {
        let Value::Object(section) = section else {
            return Err(format!("approval is {section}, not a section of settings"));
        };
        // Merged as JSON, so that a setting that is missing keeps the value of `silent`.
        let mut all = match serde_json::to_value(silent) {
            Ok(Value::Object(all)) => all,
            Ok(_) | Err(_) => Map::new(),
        };
        for (key, value) in section {
            if !KEYS.contains(&key.as_str()) {
                let meant = nearest(key, KEYS);
                let meant = meant.map(|key| format!("; did you mean {key}?")).unwrap_or_default();
                return Err(format!("approval has no setting {key}{meant}"));
            }
            all.insert(key.clone(), value.clone());
        }
        serde_json::from_value(Value::Object(all)).map_err(|error| format!("approval: {error}"))
    }
}

const KEYS: [&str; 5] =
    ["enabled", "policy", "require_for", "dangerous_tools", "auto_approve_timeout_secs"];

impl ZeptoclawSettings {
    /// Reads a whole `config.json`, or its approval section alone. Other sections are left to the
    /// system.
    ///
    /// # Errors
    /// A sentence that names the mistake and its place.
    pub fn read(text: &str, name: &str, compat: bool) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        let Value::Object(sections) = &file else {
            return Err(format!("{name}: a configuration is an object with a section `approval`"));
        };
        // A file with none but these keys is the section itself.
        let alone = !sections.is_empty() && sections.keys().all(|key| KEYS.contains(&key.as_str()));
        let empty = Value::Object(Map::new());
        let section = if alone { &file } else { sections.get("approval").unwrap_or(&empty) };
        let careful = ApprovalConfig::careful();
        // The longer list of dangerous tools stays: it can only ask more.
        let literal = ApprovalConfig {
            enabled: false,
            policy: ApprovalPolicyConfig::AlwaysAllow,
            ..careful.clone()
        };
        let approval = ApprovalConfig::over(if compat { literal } else { careful }, section)
            .map_err(|why| format!("{name}: {why}"))?;
        let (mode, doubt) = mode(sections, name, compat)?;
        Ok(Self { approval, mode, doubt })
    }
}

/// Returns the agent mode of a file. The system takes an unknown mode for autonomous.
// FAIL-CLOSED: here it is assistant, and every decision under it says so.
fn mode(
    sections: &Map<String, Value>,
    name: &str,
    compat: bool,
) -> Result<(AgentMode, Option<String>), String> {
    let section = sections.get("agent_mode");
    let word = match section.map(|section| section.get("mode").unwrap_or(section)) {
        None => return Ok((AgentMode::default(), None)),
        Some(Value::Object(section)) if section.is_empty() => {
            return Ok((AgentMode::default(), None));
        }
        Some(Value::String(word)) => word,
        Some(other) => return Err(format!("{name}: agent_mode.mode is {other}, not a word")),
    };
    match word.parse() {
        Ok(mode) => Ok((mode, None)),
        // As zeptoclaw does, which fails open.
        Err(_) if compat => Ok((AgentMode::Autonomous, None)),
        Err(why) => {
            let doubt = format!("({name}: agent_mode.mode: {why}; it counts as assistant.)");
            Ok((AgentMode::Assistant, Some(doubt)))
        }
    }
}
