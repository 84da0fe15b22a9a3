//! No bytes make the scanner, the wrappers, the critical patterns or the effects panic or overflow,
//! and what is borrowed lies inside the text.
#![no_main]

use countersign_policy::paths::Directories;
use countersign_policy::shell::scan;
use countersign_policy::{builtins, critical, effects, options, wrappers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let found = scan(text);
    for command in &found.commands {
        for word in &command.argv {
            assert!(word.span.start <= word.span.end && word.span.end <= text.len());
        }
        let _ = wrappers::unwrap(&command.argv);
        let _ = builtins::builtin(&command.argv);
        let _ = options::exceeds(&command.argv, false, Directories::default());
    }
    let _ = critical::critical(&found);
    let _ = effects::of_shell(&found, Directories { cwd: Some("/work"), home: Some("/home/me") });
});
