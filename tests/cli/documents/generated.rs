//! Parts of pages that are made of the program. A test that finds one out of date fails; with
//! `UPDATE_DOCS` set it writes the page instead, as insta does.

use std::{env, fs};

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- generated until here -->";
/// How to bring a page up to date.
pub const UPDATE: &str = "`UPDATE_DOCS=1 cargo test --workspace documents` writes it anew";

/// Compares every generated part of a page with what is made of its name.
pub fn parts(page: &str, mut make: impl FnMut(&str) -> String) {
    let there = fs::read_to_string(page).unwrap();
    let (mut made, mut rest, mut parts) = (String::new(), there.as_str(), 0);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(" -->\n").expect("the name of the part");
        let (_, after) = after.split_once(END).expect("the end of the part");
        made += &format!("{before}{BEGIN}{name} -->\n\n{}\n\n{END}", make(name).trim_end());
        (rest, parts) = (after, parts + 1);
    }
    assert!(parts > 0, "{page} has no generated part");
    whole(page, &(made + rest));
}

/// Compares a whole file.
pub fn whole(file: &str, current: &str) {
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file, current).unwrap();
    }
    let there = fs::read_to_string(file).unwrap_or_default();
    assert!(there == current, "{file} is out of date; {UPDATE}");
}
