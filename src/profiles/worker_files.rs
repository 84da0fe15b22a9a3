//! Rules files of which each worker has its own.

/// The start and growth of such files.
#[derive(Clone, Copy, Debug)]
pub struct WorkerFiles {
    /// The text that every worker's file starts with.
    pub seed: &'static str,
    /// Returns the text of a file with an allow for each pattern of a tool, as the profile's own
    /// system writes it. Takes the text, the tool, its patterns and the home folder.
    pub remember: fn(&str, &str, &[&str], Option<&str>) -> String,
}
