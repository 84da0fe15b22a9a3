//! Lists of tables, each table written as `[[name]]`.

use super::node::{ConfigNode, ConfigTable, ConfigValue};
use super::people::ConfigEntries;
use super::section::wants;

/// Removes a list of tables, each written as [[name]], from the tree.
pub(super) fn entries(
    root: &mut ConfigTable,
    name: &str,
    problems: &mut Vec<String>,
) -> ConfigEntries {
    let found = root.iter().position(|(section, ..)| section == name);
    let Some((_, place, node)) = found.map(|index| root.swap_remove(index)) else {
        return Vec::new();
    };
    let ConfigValue::List(nodes) = node.value() else {
        let what = wants(&format!("entries, each written as [[{name}]]"), &node);
        problems.push(format!("{place}: `{name}` {what}"));
        return Vec::new();
    };
    let entry = |node: &ConfigNode| match node.value() {
        ConfigValue::Table(table) => Ok((node.place.clone(), table.clone())),
        _ => Err(format!("{}: [[{name}]] {}", node.place, wants("a table", node))),
    };
    let (entries, wrong): (Vec<_>, Vec<_>) = nodes.iter().map(entry).partition(Result::is_ok);
    problems.extend(wrong.into_iter().filter_map(Result::err));
    entries.into_iter().filter_map(Result::ok).collect()
}
