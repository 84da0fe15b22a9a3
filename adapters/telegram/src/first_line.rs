//! The sign before a card's first line, and the time that is left behind it.

use countersign_port::Tone;
use jiff::{SignedDuration, Timestamp};

/// What comes before the first line.
pub(crate) fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Open => "🔔 ",
        Tone::Critical => "🛑 CRITICAL ",
        Tone::Approved => "✅ ",
        Tone::Denied => "⛔ ",
        Tone::Expired => "⌛ ",
        Tone::Cancelled => "⚪ ",
    }
}

/// The time that is left, and when it ends: the message does not count down by itself.
pub(crate) fn until(at: Timestamp, now: Timestamp) -> String {
    let left = at.duration_since(now);
    let day = if left < SignedDuration::from_hours(20) { "%H:%M UTC" } else { "%d %b %H:%M UTC" };
    let seconds = left.as_secs();
    let length = match seconds {
        ..=0 => "0 s".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", (seconds + 30) / 60),
        7_200..172_800 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    };
    format!("⏳ {length} left, until {}", at.strftime(day))
}
