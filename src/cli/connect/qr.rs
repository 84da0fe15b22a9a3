//! A link as a QR code in the terminal.

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

/// The code in half blocks, black on white whatever the terminal's colours are; `None` for a link
/// that is too long.
pub(super) fn picture(link: &str) -> Option<String> {
    // The lowest level of error correction gives the fewest modules, and a screen has no scratches.
    let code = QrCode::with_error_correction_level(link, EcLevel::L).ok()?;
    let drawn = code.render::<Dense1x2>().quiet_zone(true).build();
    let lines: Vec<_> =
        drawn.lines().map(|line| format!("\u{1b}[30;107m{line}\u{1b}[0m")).collect();
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_code_is_dark_on_light_with_a_margin_and_fits_into_a_small_terminal() {
        let link = "https://t.me/countersign_test_bot?start=pair-AAAAAAAAAAAAAAAAAAAAAA";
        let picture = picture(link).unwrap();
        let lines: Vec<_> = picture.lines().collect();
        let bare = |line: &str| {
            let line = line.strip_prefix("\u{1b}[30;107m").unwrap();
            line.strip_suffix("\u{1b}[0m").unwrap().to_owned()
        };
        assert!(lines.len() <= 23, "{} lines", lines.len());
        assert!(lines.iter().all(|line| bare(line).chars().count() <= 45));
        // The margin is four modules wide, which are two lines.
        assert!(lines.iter().take(2).all(|line| bare(line).trim().is_empty()), "{picture}");
        assert!(lines.iter().all(|line| bare(line).starts_with("    ")), "{picture}");
    }
}
