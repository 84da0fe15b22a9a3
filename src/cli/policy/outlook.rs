//! Summarizes the rules for an agent in three lines.

use super::rules;
use crate::{cli::Context, config::Profile};
use anyhow::Result;
use countersign_policy::{Rule, Rules, Verdict};

/// The largest number of patterns that are listed; further ones are counted.
const MOST: usize = 5;

/// Lists what the current rules ask, allow and deny.
///
/// # Errors
/// When the config or the rules cannot be read.
pub(in crate::cli) fn lines(context: &Context) -> Result<String> {
    let profile = context.config()?.policy.profile;
    if profile != Profile::Standard {
        return Ok(format!(
            "The profile {profile} rules, with its system's own rules; \
             `countersign policy check --profile {profile}` tries them."
        ));
    }
    Ok(of(&rules::load(context, None)?.rules))
}

fn of(rules: &Rules) -> String {
    let all: Vec<&Rule> = rules.iter().collect();
    // The last matching rule wins, so the last catch-all is the one in effect.
    let rest = all.iter().rev().find(|rule| rule.tool == "*" && rule.pattern == "*");
    let rest = rest.map_or(Verdict::Ask, |rule| rule.verdict);
    let line = |verdict: Verdict, name: &str| {
        let mut parts = reading(&all, verdict);
        // Without the classes, which `reading` has put into words.
        let named = all.iter().filter(|rule| rule.verdict == verdict && rule.pattern != "@reads");
        let named: Vec<String> =
            named.filter(|rule| rule.tool != "*").map(|rule| rule.to_string()).collect();
        parts.extend(named.iter().take(MOST).cloned());
        if named.len() > MOST {
            parts.push(format!("{} more rules", named.len() - MOST));
        }
        if rest == verdict {
            let rest = match (verdict, parts.is_empty()) {
                (Verdict::Ask, _) => {
                    "everything else: what changes, runs, sends or reads elsewhere"
                }
                (_, true) => "everything",
                (_, false) => "everything else",
            };
            parts.push(rest.to_owned());
        }
        let said = if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") };
        format!("{name:<8} {said}")
    };
    [line(Verdict::Ask, "Asked:"), line(Verdict::Allow, "Allowed:"), line(Verdict::Deny, "Denied:")]
        .join("\n")
}

/// The class of calls that only read, in words.
fn reading(all: &[&Rule], verdict: Verdict) -> Vec<String> {
    let of_class = |rule: &&&Rule| rule.verdict == verdict && rule.pattern == "@reads";
    let tools: Vec<&str> = all.iter().filter(of_class).map(|rule| rule.tool.as_str()).collect();
    match tools.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "what only reads, inside the project and without secrets ({})",
            tools.join(", ")
        )],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::of;
    use countersign_policy::{DEFAULT_RULES, Rules};

    #[test]
    fn the_lines_say_what_the_rules_say() {
        assert_eq!(
            of(&Rules::parse(DEFAULT_RULES, "rules", None).unwrap()),
            "Asked:   read_file: *.env.example; everything else: what changes, runs, sends or \
             reads elsewhere\n\
             Allowed: what only reads, inside the project and without secrets (read_file, glob, \
             grep, shell_exec)\n\
             Denied:  read_file: *.env; read_file: *.env.*; read_file: *credentials*; \
             read_file: *secret*; write_file: *.env; 3 more rules"
        );
        let own = r#"{"*": "allow", "shell_exec": {"git push *": "ask"}}"#;
        assert_eq!(
            of(&Rules::parse(own, "rules", None).unwrap()),
            "Asked:   shell: git push *\nAllowed: everything\nDenied:  nothing"
        );
    }
}
