//! The chat platforms of this program, one line each.
//!
//! Everything else about a platform is in its own crate, as [`Platform`] requires. No other module
//! knows a platform by name.

use countersign_port::Platform;

/// A platform with its name, which is also its config section and its build feature.
#[derive(Clone, Copy)]
pub struct Registered {
    /// The name.
    pub name: &'static str,
    /// The platform; `None` if this program was built without it.
    pub platform: Option<&'static dyn Platform>,
}

macro_rules! registered {
    ($($feature:literal => $platform:path,)*) => {
        &[$(Registered {
            name: $feature,
            #[cfg(feature = $feature)]
            platform: Some(&$platform),
            #[cfg(not(feature = $feature))]
            platform: None,
        },)*]
    };
}

/// The platforms that this program supports.
pub const BUILT_IN: &[Registered] = registered! {
    "telegram" => countersign_telegram::TelegramPlatform,
    "discord" => countersign_discord::DiscordPlatform,
    "slack" => countersign_slack::SlackPlatform,
};

/// The names of the platforms for which `countersign connect` can guide a person.
pub fn guided() -> impl Iterator<Item = &'static str> {
    let has_guide = |it: &&Registered| it.platform.is_some_and(|it| it.guide().is_some());
    BUILT_IN.iter().filter(has_guide).map(|it| it.name)
}

// The name stands for the platform, because `dyn Platform` cannot be compared.
impl PartialEq for Registered {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.platform.is_some() == other.platform.is_some()
    }
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registered({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_registered_under_its_own_name_and_with_all_that_it_needs() {
        for registered in BUILT_IN {
            let Some(platform) = registered.platform else { continue };
            let description = platform.description();
            assert_eq!(description.name, registered.name);
            assert_eq!(description.faults(), [""; 0]);
            let section = format!("# [{}]\n", registered.name);
            assert!(description.example.starts_with(&section), "{}", description.example);
        }
    }
}
