//! The promises that every adapter is held to, run against a fake of its platform.

mod cards;
mod core;
mod fake;
mod promises;
mod running;

#[doc(hidden)]
pub use countersign_port as port;

pub use self::core::{COMMANDS, Received, ScriptedCore, TestCore};
pub use cards::{closed, golden_bytes, golden_cards, golden_rows, sample_card, sample_edit};
pub use fake::{FakePlatform, Injected, PlatformFault, VisibleMessage};

/// Runs an adapter through the contract.
///
/// # Panics
/// With the promise that was broken.
pub async fn conformance(fake: &dyn FakePlatform) {
    promises::cards_are_shown_pressed_and_closed(fake).await;
    promises::what_stands_behind_more_is_shown_and_pressed(fake).await;
    promises::a_view_of_a_card_is_shown_where_it_was_asked_for(fake).await;
    promises::a_long_card_is_shown_whole(fake).await;
    promises::a_slow_core_is_waited_for(fake).await;
    promises::a_text_is_taken_after_a_restart(fake).await;
    promises::a_card_that_is_posted_again_stands_once_or_closes_where_it_is_pressed(fake).await;
    promises::a_wait_is_reported_and_then_over(fake).await;
    promises::a_lost_answer_loses_no_card(fake).await;
    promises::presses_arrive_after_a_reconnect(fake).await;
    promises::a_session_has_one_thread(fake).await;
}
