//! Characters that hide, reorder or imitate, made visible. One function for every surface.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        BidiClass, DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory as Category,
        Script,
    },
};

/// Joins pictographs into one: 👩‍💻.
const JOINER: char = '\u{200d}';
/// Asks for the coloured picture of a sign: ⚠️.
const PICTURE: char = '\u{fe0f}';
/// Skin tones.
const TONES: std::ops::RangeInclusive<char> = '\u{1f3fb}'..='\u{1f3ff}';
/// Signs whose picture is empty or stands for something else, though Unicode counts them as
/// symbols.
const EMPTY: [char; 3] = ['\u{2800}', '\u{fffc}', '\u{1d159}'];
/// Marks on one letter; no script needs more, and a pile of them covers the lines around it.
const MARKS: usize = 4;

/// Makes characters visible that would hide, reorder or fake text; tab and newline stay.
///
/// By Unicode's own properties: `Default_Ignorable_Code_Point` and the categories of controls,
/// formats (bidi marks, tags, soft hyphens), separators other than the blank, private and
/// unassigned characters become `\u{…}`. So do marks that have no letter to stand on. Joiners and
/// selectors stay only inside of emoji; a joiner between letters, which Persian and some Indic
/// words need, is shown, because two names that look alike must not be two files.
///
/// ```
/// assert_eq!(countersign_port::visible("ls \u{202e}fdp"), "ls \\u{202e}fdp");
/// assert_eq!(countersign_port::visible("👩\u{200d}💻 a\u{200d}b"), "👩\u{200d}💻 a\\u{200d}b");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    // What commands are made of, nearly always.
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return text.to_owned();
    }
    let properties = Properties::new();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut before = Before::Nothing;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = c == JOINER && chars.peek().is_some_and(|next| properties.pictograph(*next));
        match properties.after(before, c, joins) {
            Some(now) => {
                out.push(c);
                before = now;
            }
            None => {
                out.extend(c.escape_unicode());
                before = Before::Nothing;
            }
        }
    }
    out
}

/// As [`visible`], on one line: for names and facts that are within other words.
///
/// ```
/// assert_eq!(countersign_port::line("a\nb\tc"), "a ⏎ b\\u{9}c");
/// ```
#[must_use]
pub fn line(text: &str) -> String {
    visible(text).replace('\n', " ⏎ ").replace('\t', "\\u{9}")
}

/// The text in an isolate of its own where it holds letters that are written from right to left, so
/// that they reorder nothing around it: for names and facts among other words.
///
/// ```
/// assert_eq!(countersign_port::isolated("Ana"), "Ana");
/// assert_eq!(countersign_port::isolated("אנה"), "\u{2068}אנה\u{2069}");
/// ```
#[must_use]
pub fn isolated(text: &str) -> String {
    let class = CodePointMapData::<BidiClass>::new();
    let leftward = |c: char| {
        !c.is_ascii() && matches!(class.get(c), BidiClass::RightToLeft | BidiClass::ArabicLetter)
    };
    if text.chars().any(leftward) { format!("\u{2068}{text}\u{2069}") } else { text.to_owned() }
}

/// Whether a name is written in letters of several scripts, as one that imitates another is.
/// Japanese and Korean, which mix by nature, count as one with Chinese characters.
#[must_use]
pub fn mixes_scripts(name: &str) -> bool {
    let scripts = CodePointMapData::<Script>::new();
    let of = |c: char| match scripts.get(c) {
        Script::Common | Script::Inherited => None,
        Script::Hiragana | Script::Katakana | Script::Hangul | Script::Bopomofo => {
            Some(Script::Han)
        }
        script => Some(script),
    };
    let mut seen = name.chars().filter_map(of);
    let first = seen.next();
    seen.any(|script| Some(script) != first)
}

/// Whether a character means something only behind the one before it: joiners, selectors, marks.
pub(crate) fn leans(c: char) -> bool {
    let mark = || {
        let category = CodePointMapData::<Category>::new().get(c);
        matches!(category, Category::NonspacingMark | Category::EnclosingMark)
    };
    !c.is_ascii() && (c == JOINER || c == PICTURE || mark())
}

/// What the next character stands on.
#[derive(Clone, Copy)]
enum Before {
    /// A blank, a sign, the beginning.
    Nothing,
    /// A letter or digit with so many marks.
    Letter(usize),
    /// A pictograph, its tone included; whether its picture was asked for already.
    Pictograph { chosen: bool },
}

/// Unicode's properties, from the Unicode Consortium's own crate.
struct Properties {
    category: icu_properties::CodePointMapDataBorrowed<'static, Category>,
    ignorable: icu_properties::CodePointSetDataBorrowed<'static>,
    pictographic: icu_properties::CodePointSetDataBorrowed<'static>,
}

impl Properties {
    fn new() -> Self {
        Self {
            category: CodePointMapData::<Category>::new(),
            ignorable: CodePointSetData::new::<DefaultIgnorableCodePoint>(),
            pictographic: CodePointSetData::new::<ExtendedPictographic>(),
        }
    }

    fn pictograph(&self, c: char) -> bool {
        !c.is_ascii() && self.pictographic.contains(c) && !self.hides(c)
    }

    /// What is there once this character is; `None` where it has to be spelled out.
    fn after(&self, before: Before, c: char, joins: bool) -> Option<Before> {
        match (c, before) {
            ('\n' | '\t' | ' ', _) => Some(Before::Nothing),
            (PICTURE, Before::Pictograph { chosen: false }) => {
                Some(Before::Pictograph { chosen: true })
            }
            (JOINER, Before::Pictograph { .. }) if joins => Some(Before::Nothing),
            _ if self.hides(c) => None,
            _ if TONES.contains(&c) => Some(match before {
                Before::Pictograph { .. } => before,
                _ => Before::Nothing,
            }),
            _ if self.pictograph(c) => Some(Before::Pictograph { chosen: false }),
            _ => match (self.category.get(c), before) {
                (Category::NonspacingMark | Category::EnclosingMark, Before::Letter(marks)) => {
                    (marks < MARKS).then_some(Before::Letter(marks + 1))
                }
                (Category::NonspacingMark | Category::EnclosingMark, _) => None,
                (Category::SpacingMark, Before::Letter(_)) => Some(Before::Letter(0)),
                _ if c.is_alphanumeric() => Some(Before::Letter(0)),
                _ => Some(Before::Nothing),
            },
        }
    }

    /// Whether a character shows nothing, or not what it is.
    fn hides(&self, c: char) -> bool {
        use Category::{
            Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator,
            Surrogate, Unassigned,
        };
        let hidden = matches!(
            self.category.get(c),
            Control
                | Format
                | LineSeparator
                | ParagraphSeparator
                | PrivateUse
                | SpaceSeparator
                | Surrogate
                | Unassigned
        );
        c != ' ' && (hidden || self.ignorable.contains(c) || EMPTY.contains(&c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(c: char) -> String {
        c.escape_unicode().collect()
    }

    #[test]
    fn invisible_and_bidi_characters_become_visible() {
        assert_eq!(visible("a\u{200b}b\r\u{0}\u{2066}"), "a\\u{200b}b\\u{d}\\u{0}\\u{2066}");
        let hidden = "\u{1b}\u{7f}\u{9b}\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{1680}\u{17b4}\
            \u{180b}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\
            \u{202e}\u{2060}\u{2064}\u{2065}\u{206f}\u{2800}\u{3000}\u{3164}\u{e000}\u{fe00}\
            \u{fe0e}\u{fe0f}\u{feff}\u{ffa0}\u{fff0}\u{fff9}\u{fffb}\u{fffc}\u{fffe}\u{1bca0}\
            \u{1d159}\u{1d173}\u{e0001}\u{e0020}\u{e007f}\u{e0100}\u{e01ef}\u{f0000}\u{10ffff}\
            \u{378}";
        for c in hidden.chars() {
            assert_eq!(visible(&format!("a{c}b")), format!("a{}b", spelled(c)), "{c:?}");
        }
    }

    #[test]
    fn plain_text_of_any_script_tabs_newlines_and_emoji_stay() {
        for text in [
            "é\t日\n👍🏽 ⚠\u{fe0f}",
            "e\u{301} n\u{303}",
            "हिन्दी ไทย עִבְרִית العربية Tiếng Việt Ελληνικά 한국어 བོད་ཡིག",
            "👩🏽\u{200d}💻 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 🇩🇪 ©",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn letters_of_several_scripts_are_told_from_those_of_one() {
        for name in ["аpple.com", "pаypal", "gооgle"] {
            assert!(mixes_scripts(name), "{name}");
        }
        for name in ["apple-1.com", "яндекс", "東京とカナ", "bücher", "한국語"] {
            assert!(!mixes_scripts(name), "{name}");
        }
    }

    #[test]
    fn what_belongs_to_an_emoji_is_shown_anywhere_else() {
        for (text, shown) in [
            ("ls\u{fe0f}", "ls\\u{fe0f}"),
            ("⚠\u{fe0f}\u{fe0f}", "⚠\u{fe0f}\\u{fe0f}"),
            ("👩\u{200d}x", "👩\\u{200d}x"),
            ("می\u{200c}خواهم", "می\\u{200c}خواهم"),
            ("🏴\u{e0067}\u{e007f}", "🏴\\u{e0067}\\u{e007f}"),
            ("\u{336}rm", "\\u{336}rm"),
            ("a;\u{338}b", "a;\\u{338}b"),
        ] {
            assert_eq!(visible(text), shown);
        }
        let pile = format!("a{}", "\u{336}".repeat(5));
        assert_eq!(visible(&pile), format!("a{}\\u{{336}}", "\u{336}".repeat(4)));
    }

    proptest! {
        #[test]
        fn what_is_visible_stays_as_it_is(text in any::<String>()) {
            let once = visible(&text);
            prop_assert_eq!(visible(&once), once);
        }

        #[test]
        fn a_line_has_no_control_character(text in any::<String>()) {
            prop_assert!(!line(&text).chars().any(char::is_control));
        }
    }
}
