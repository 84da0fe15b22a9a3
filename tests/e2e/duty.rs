//! Who is on duty, who is away, and whose quiet hours it is.

use crate::{
    daemon::{Daemon, shell},
    discord_server::{FakeDiscord, Person},
    telegram_server::{ANA, BEN, GROUP, Telegram},
};

/// Ana and Ben take turns; the first week is Ana's, and it lasts beyond every test.
fn rota() -> String {
    let today = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC).date();
    let yesterday = today.yesterday().unwrap();
    format!(
        r#"
[[people]]
name = "Ana"
telegram = 4211
discord = "77"
zone = "Europe/Rome"
[[people]]
name = "Ben"
telegram = 4212
[[rotas]]
name = "ops"
people = ["Ana", "Ben"]
starts = "{yesterday} 00:00"
zone = "UTC"
[[routes]]
name = "duty"
command = "git push *"
to = "duty:ops"
[[routes]]
name = "ana"
command = ["make *", "sudo *", "rm *"]
to = "person:Ana"
"#
    )
}

struct DutyTeam {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

async fn start(people: &str) -> DutyTeam {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    for person in [ANA, BEN] {
        telegram.say(person.id, "hello", person);
    }
    let chats = crate::chats::both(&telegram, &discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let daemon = Daemon::start(&format!("{chats}{people}")).await;
    discord.until_online().await;
    DutyTeam { telegram, discord, daemon }
}

impl DutyTeam {
    /// What Ana is told when she writes this to the bot.
    async fn told(&self, text: &str) -> String {
        let id = self.telegram.say(ANA.id, text, ANA);
        self.telegram.answer_to(ANA.id, id).await
    }

    /// Asks this, and waits for its card in this chat.
    async fn reaches(&self, command: &str, chat: i64) {
        self.daemon.ask(&shell(command)).await;
        let all = || self.telegram.open_cards(chat).into_iter();
        let found = || all().find(|card| card.text.contains(command));
        self.telegram.until(command, found).await;
        let chats = [GROUP, ANA.id, BEN.id];
        let cards = chats.map(|chat| self.telegram.open_cards(chat));
        let shown = cards.iter().flatten().filter(|card| card.text.contains(command)).count();
        assert_eq!(shown, 1, "{command} is shown once");
    }
}

#[tokio::test]
async fn who_is_on_duty_has_the_request_and_the_next_one_while_they_are_away() {
    let team = start(&rota()).await;
    let duty = team.told("/duty").await;
    assert!(duty.starts_with("ops: Ana until "), "{duty}");
    let printed = team.daemon.command(&["duty"]).output().await.unwrap().stdout;
    assert!(String::from_utf8(printed).unwrap().starts_with("ops: Ana until "));
    team.reaches("git push one", ANA.id).await;

    let away = team.told("/away 2h").await;
    assert!(away.starts_with("Ana is away until "), "{away}");
    let ana = Person::new("77", "Ana");
    let told = team.discord.command("duty", &[], &ana).await.words().unwrap();
    assert!(told.starts_with("ops: Ben until "), "{told}");
    team.reaches("git push two", BEN.id).await;
    // A route to Ana alone reaches nobody, so everybody is told.
    team.reaches("make all", GROUP).await;

    let back = team.discord.command("back", &[], &ana).await.words().unwrap();
    assert_eq!(back, "Ana is back.");
    assert_eq!(team.told("/back").await, "Ana was not away.");
    team.reaches("git push three", ANA.id).await;
}

#[tokio::test]
async fn who_snoozes_keeps_the_duty_and_gets_no_other_direct_messages() {
    let team = start(&rota()).await;
    let snoozed = team.told("/snooze 20m").await;
    assert!(snoozed.starts_with("Ana gets no direct messages until "), "{snoozed}");
    team.reaches("make all", GROUP).await;
    team.reaches("git push", ANA.id).await;
    let wrong = "Say a time such as 20m or 2h, or `until 18:00`.";
    assert_eq!(team.told("/snooze later").await, wrong);
    assert_eq!(team.told("/away tomorrow").await, wrong);
}

/// A critical call that this route fits in all its parts.
const CRITICAL: &str = "make x && sudo rm -rf --no-preserve-root /";

#[tokio::test]
async fn in_quiet_hours_only_what_is_critical_breaks_through_where_that_is_wanted() {
    let quiet = "zone = \"Europe/Rome\"\nquiet = \"00:00-00:00\"\n";
    let team = start(&rota().replacen("zone = \"Europe/Rome\"\n", quiet, 1)).await;
    team.reaches("make all", GROUP).await;
    team.reaches(CRITICAL, ANA.id).await;
    let nothing = format!("{quiet}quiet_except = \"nothing\"\n");
    let team = start(&rota().replacen("zone = \"Europe/Rome\"\n", &nothing, 1)).await;
    team.reaches(CRITICAL, GROUP).await;
}
