//! A digest where several daemons share a store: one of them makes it, and one sends it.

use super::{Team, leads};
use crate::{
    daemon::{Daemon, shell},
    telegram_server::{ANA, GROUP},
};

fn daily(minutes: i64) -> String {
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes);
    let at = at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%H:%M");
    format!("[digest]\nwhen = \"daily {at}\"\nzone = \"UTC\"\nto = [\"room\"]\n")
}

#[tokio::test]
async fn of_three_daemons_that_find_a_digest_due_one_sends_it_and_none_after_it_was_killed() {
    let Some(team) = Team::new().await else { return };
    let chat = format!("chat = {GROUP}");
    let config = team.config.replace(&chat, &format!("{chat}, name = \"room\""));
    let with = |minutes| format!("{config}{}", daily(minutes));
    let mut first = Daemon::start(&with(60)).await;
    leads(&first).await;
    first.ask(&shell("make all")).await;
    let card = team.card().await;
    team.telegram.press(GROUP, card.id, "Approve", ANA).await;
    team.postgres.until("SELECT count(*) FROM digest", |made| made > 0).await;
    first.kill().await;
    team.postgres
        .execute(&format!(
            "UPDATE {}.ask SET closed_at = closed_at - 600000",
            team.postgres.schema()
        ))
        .await;
    first.write_config(&with(1));
    let digests = || {
        let all = team.telegram.messages(GROUP).into_iter();
        all.filter(|it| it.text.starts_with("Digest of 24 hours: 1 request.")).count()
    };
    let config = with(1);
    let (_, second, third) =
        tokio::join!(first.run(), Daemon::start(&config), Daemon::start(&config));
    team.postgres.end_leases().await;
    tokio::select! {
        _ = leads(&first) => {}
        _ = leads(&second) => {}
        _ = leads(&third) => {}
    }
    team.telegram.until("the digest", || (digests() > 0).then_some(())).await;
    // One that is killed between sending and noting it sends it again, which is another test.
    let sent = "SELECT count(*) FROM digest WHERE sent = 1 AND target <> ''";
    team.postgres.until(sent, |sent| sent > 0).await;
    first.kill().await;
    drop(second);
    team.postgres.end_leases().await;
    leads(&third).await;
    // What follows it in the outbox comes, and no second digest before it.
    third.ask(&shell("make more")).await;
    team.card().await;
    assert_eq!(digests(), 1);
    drop((first, third));
    team.postgres.drop().await;
}
