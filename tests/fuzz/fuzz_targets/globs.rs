//! Any pattern is read or refused; matching is total, and a narrow match is also a wide one.
#![no_main]

use countersign_policy::glob::Glob;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (pattern, value) = input;
    if let Ok(glob) = Glob::parse(pattern)
        && !pattern.starts_with('!')
        && glob.matches(value)
    {
        assert!(glob.reaches(value), "{pattern:?} matches {value:?} but does not reach it");
    }
});
