//! Rules files of which each worker has its own.

/// How such files begin and grow.
#[derive(Clone, Copy, Debug)]
pub struct WorkerFiles {
    /// The text that every worker's file starts with.
    pub seed: &'static str,
    /// The text of a file with an allow for each pattern of a tool, as the profile's own system
    /// writes it: from the text, the tool, its patterns and the home folder.
    pub remember: fn(&str, &str, &[&str], Option<&str>) -> String,
}
