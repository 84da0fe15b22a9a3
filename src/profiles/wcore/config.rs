//! wayland-core's own configuration, as far as policy needs it:
//! `{"tools":{"allow_list":["Read"]}}`.

use serde::Deserialize;

/// The settings for policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WcoreConfig {
    #[serde(default)]
    pub(super) tools: Tools,
}

/// Settings of tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tools {
    /// Tools that never ask, in any mode.
    #[serde(default)]
    pub(super) allow_list: Vec<String>,
}

impl WcoreConfig {
    // FAIL-CLOSED: without a configuration the list is empty. wayland-core's own installer writes a
    // list, so what is allowed is in a file that a person can read.
    pub(super) fn read(text: Option<&str>, name: &str) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::default()) };
        let says = |mistake: &str| {
            format!("{name}: {mistake}; it looks like {{\"tools\":{{\"allow_list\":[\"Read\"]}}}}")
        };
        // serde would accept a list as an object and assign its elements to keys by position.
        if !text.trim_start().starts_with('{') {
            return Err(says("this is no object"));
        }
        let config: Self = serde_json::from_str(text).map_err(|error| says(&error.to_string()))?;
        match config.tools.allow_list.iter().find(|tool| tool.trim().is_empty()) {
            Some(_) => Err(format!("{name}: tools.allow_list holds an empty name")),
            None => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_list_is_read_and_nothing_configured_lists_nothing() {
        let read = |text| WcoreConfig::read(text, "config.json").unwrap().tools.allow_list;
        assert_eq!(read(Some(r#"{"tools":{"allow_list":["Read","Grep"]}}"#)), ["Read", "Grep"]);
        assert_eq!(read(Some("{}")), Vec::<String>::new());
        assert_eq!(read(None), Vec::<String>::new());
    }

    #[test]
    fn a_mistake_is_named_with_its_file_and_grants_nothing() {
        for text in [
            "",
            "[]",
            "[[[\"Bash\"]]]",
            r#"{"tools":{"allowlist":["Bash"]}}"#,
            r#"{"tool":{}}"#,
            r#"{"tools":{"allow_list":"Bash"}}"#,
            r#"{"tools":{"allow_list":[" "]}}"#,
            r#"{"tools":{},"tools":{"allow_list":["Bash"]}}"#,
        ] {
            let mistake = WcoreConfig::read(Some(text), "config.json").unwrap_err();
            assert!(mistake.starts_with("config.json: "), "{text}: {mistake}");
        }
    }
}
