//! docs/commands.md, held to the command line.

use super::generated;
use clap::{Arg, Command};

#[test]
fn the_lists_of_commands_are_those_of_the_command_line() {
    let mut program = countersign::cli::command();
    program.build();
    let mut listed = Vec::new();
    generated::parts("docs/commands.md", |part| {
        let (_, names) = part.split_once(' ').unwrap();
        let mut rows = Vec::new();
        for name in names.split(' ') {
            listed.push(name.to_owned());
            let command = program.find_subcommand(name).unwrap_or_else(|| panic!("{name}?"));
            add_rows(command, name, &mut rows);
        }
        rows.join("\n")
    });
    let all = program.get_subcommands().map(|it| it.get_name().to_owned());
    let mut all: Vec<_> = all.filter(|name| name != "help").collect();
    all.sort();
    listed.sort();
    assert_eq!(listed, all, "each command is in one list of docs/commands.md");
}

/// Adds a row for a command, or one for each of its sub-commands.
fn add_rows(command: &Command, path: &str, rows: &mut Vec<String>) {
    let inner: Vec<_> = command.get_subcommands().filter(|it| it.get_name() != "help").collect();
    if inner.is_empty() || !command.is_subcommand_required_set() {
        rows.push(row(command, path));
    }
    for command in inner {
        add_rows(command, &format!("{path} {}", command.get_name()), rows);
    }
}

fn row(command: &Command, path: &str) -> String {
    let words = command.get_positionals().map(positional);
    let name = [path.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    let is_own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && !arg.is_positional();
    let options = command.get_arguments().filter(is_own).filter_map(Arg::get_long);
    let options = options.filter(|name| !["help", "version", "json"].contains(name));
    let options: Vec<_> = options.map(|name| format!("`--{name}`")).collect();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let options = match options.as_slice() {
        [] => String::new(),
        options => format!(" ({})", options.join(", ")),
    };
    format!("- `{name}`: {about}{options}")
}

fn positional(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let many = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    let name = if many { format!("{name}…") } else { name };
    let name = if arg.is_last_set() { format!("-- {name}") } else { name };
    if arg.is_required_set() { name } else { format!("[{name}]") }
}
