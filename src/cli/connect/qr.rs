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
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;

    /// What a camera reads of a terminal with a dark background that shows this.
    fn scanned(picture: &str) -> String {
        const MODULE: usize = 4;
        let mut terminal = vt100::Parser::new(30.try_into().unwrap(), 60.try_into().unwrap(), 0);
        terminal.process(picture.replace('\n', "\r\n").as_bytes());
        let shade = |x: usize, y: usize| {
            let (row, column) = (u16::try_from(y / 2).unwrap(), u16::try_from(x).unwrap());
            let cell = terminal.screen().cell(row, column).unwrap();
            let inked = matches!((cell.contents(), y % 2), ("█", _) | ("▀", 0) | ("▄", 1));
            match if inked { cell.fgcolor() } else { cell.bgcolor() } {
                vt100::Color::Idx(15) => 255,
                _ => 0,
            }
        };
        let pixel = |x: usize, y: usize| shade(x / MODULE, y / MODULE);
        let (wide, high) = (60 * MODULE, 60 * MODULE);
        let mut photo = rqrr::PreparedImage::prepare_from_greyscale(wide, high, pixel);
        let [code] = &photo.detect_grids()[..] else { panic!("no code is found") };
        code.decode().unwrap().1
    }

    #[test]
    fn a_camera_reads_the_link_from_the_terminal() {
        for link in [
            "https://t.me/countersign_test_bot?start=pair-AAAAAAAAAAAAAAAAAAAAAA",
            "https://t.me/b?startgroup=pair-_9-zZ0123456789abcdefg&admin=post_messages",
            "https://discord.com/users/118000000000000001",
        ] {
            assert_eq!(scanned(&picture(link).unwrap()), link);
        }
    }

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
