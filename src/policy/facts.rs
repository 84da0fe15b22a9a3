//! The facts of a call: its tool, values and commands, the paths and programs that these name, and
//! their effects. Nothing here uses a rule.

pub mod access;
pub mod argument_names;
pub(crate) mod arguments;
pub mod argv;
pub mod builtins;
pub mod call;
pub mod edited_files;
pub mod effects;
pub(crate) mod excerpt;
pub(crate) mod followers;
pub mod links;
pub mod obeyed;
pub mod options;
pub mod patch;
pub mod paths;
pub(crate) mod programs;
pub(crate) mod reads;
pub mod tool_name;
pub mod tools;
pub(crate) mod url;
pub mod values;
pub(crate) mod working_directory;
pub mod wrappers;
