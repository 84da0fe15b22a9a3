//! Any rules file is read or refused, never a panic; what is appended can be read again.
#![no_main]

use countersign_policy::{Rule, Rules, file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let read = Rules::parse(text, "permissions.jsonc", Some("/home/me"));
    if read.is_ok()
        && let Ok(more) = file::append(text, &[Rule::allow("shell_exec", "git push *")])
    {
        assert!(Rules::parse(&more, "permissions.jsonc", Some("/home/me")).is_ok(), "{more}");
    }
});
