//! A terminal beside a chat, as an SVG that plays in any browser and stands still where motion is
//! not wanted.

use std::fmt::Write as _;

/// The lines of one side at one time, as the content of SVG's `text`.
pub type Lines = Vec<String>;

/// A command in the terminal, and what both sides show after it, one after the other.
pub struct Picture {
    pub title: &'static str,
    pub typed: String,
    pub scenes: [Scene; 2],
}

/// What both sides show at one time.
#[derive(Default)]
pub struct Scene {
    pub terminal: Lines,
    pub card: Lines,
    /// The rows of buttons under the card.
    pub buttons: Vec<Vec<String>>,
    /// The button that is pressed at the end.
    pub pressed: Option<&'static str>,
}

/// The letters in a line of the terminal.
const TERMINAL_COLUMNS: usize = 80;
/// The letters in a line of the chat.
const CHAT_COLUMNS: usize = 46;

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#e8eaed}\
.t text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}\
.b{font-weight:600}.m{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:11px}\
.p{fill:#7ee0a8}.key rect{fill:#34485c}.key text{text-anchor:middle}\
.one{animation:one 12s infinite}.two{opacity:0;animation:two 12s infinite}\
.go rect{animation:go 12s infinite}\
@keyframes one{0%,9%{opacity:0}13%,52%{opacity:1}54%,100%{opacity:0}}\
@keyframes two{0%,54%{opacity:0}57%,97%{opacity:1}100%{opacity:0}}\
@keyframes go{0%,44%{fill:#34485c}46%,52%{fill:#2f8f5b}}\
@media(prefers-reduced-motion:reduce){.one,.two,.go rect{animation:none}}";

/// The rows of a terminal's screen; the details of a request are left out.
pub fn screen(text: &str) -> Lines {
    let detail =
        |line: &str| line.starts_with("    ") && !line.contains('→') && !line.contains(" left");
    let mut lines: Lines = text.trim_end().lines().map(|line| escaped(line.trim_end())).collect();
    lines.dedup_by(|line, before| detail(line) && detail(before));
    for line in lines.iter_mut().filter(|line| detail(line)) {
        *line = "    …".to_owned();
    }
    lines
}

/// The rows of a screen, those that are too long for the picture in two.
pub fn folded(text: &str) -> Lines {
    let mut lines = Lines::new();
    for line in text.trim_end().lines() {
        let mut now = String::new();
        for word in line.trim_end().split_inclusive(' ') {
            if now.chars().count() + word.trim_end().chars().count() > TERMINAL_COLUMNS {
                lines.push(escaped(now.trim_end()));
                now = "    ".to_owned();
            }
            now += word;
        }
        lines.push(escaped(&now));
    }
    lines
}

/// The lines of a message of Telegram in its HTML; what is folded is left out.
pub fn chat(html: &str) -> Lines {
    let open = match html.split_once("<blockquote expandable>") {
        Some((open, rest)) => {
            let after = rest.split_once("</blockquote>").map_or("", |(_, after)| after);
            format!("{open}⌄ Details{after}")
        }
        None => html.to_owned(),
    };
    open.lines().flat_map(|line| wrapped(line.trim_end())).collect()
}

impl Picture {
    pub fn svg(&self) -> String {
        let height = self.scenes.iter().map(Scene::height).max().unwrap_or_default().max(80);
        let inner = height - 24;
        let [one, two] = &self.scenes;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 906 {height}\" role=\"img\">\n\
             <title>{}</title>\n\
             <style>{STYLE}</style>\n\
             <rect x=\"8\" y=\"12\" width=\"552\" height=\"{inner}\" rx=\"10\" fill=\"#16181d\"/>\n\
             <rect x=\"568\" y=\"12\" width=\"330\" height=\"{inner}\" rx=\"10\" fill=\"#1c2733\"/>\n\
             <g class=\"t\"><text x=\"20\" y=\"40\"><tspan class=\"p\">shop $</tspan> {}</text></g>\n\
             <g class=\"t one\">\n{}</g>\n<g class=\"t two\">\n{}</g>\n\
             <g class=\"one\">\n{}{}</g>\n<g class=\"two\">\n{}{}</g>\n</svg>\n",
            self.title,
            escaped(&self.typed),
            placed(&one.terminal, 20, 57),
            placed(&two.terminal, 20, 57),
            placed(&one.card, 580, 40),
            one.keys(),
            placed(&two.card, 580, 40),
            two.keys(),
        )
    }
}

impl Scene {
    fn height(&self) -> usize {
        (self.top() + self.buttons.len() * 34 + 20).max(80 + 17 * self.terminal.len())
    }

    /// Where the buttons begin.
    fn top(&self) -> usize {
        44 + 17 * self.card.len()
    }

    fn keys(&self) -> String {
        let mut keys = String::new();
        for (row, labels) in self.buttons.iter().enumerate() {
            let width = 310 / labels.len().max(1);
            for (at, label) in labels.iter().enumerate() {
                let (x, y) = (578 + at * width, self.top() + row * 34);
                let class = if Some(label.as_str()) == self.pressed { "key go" } else { "key" };
                let (middle, wide) = (x + width / 2, width - 4);
                let label = escaped(&cut(label, wide / 7));
                let _ = writeln!(
                    keys,
                    "<g class=\"{class}\"><rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"30\" rx=\"6\"/>\
                     <text x=\"{middle}\" y=\"{}\">{label}</text></g>",
                    y + 19
                );
            }
        }
        keys
    }
}

fn placed(lines: &Lines, x: usize, y: usize) -> String {
    let line = |(at, line): (usize, &String)| {
        format!("<text x=\"{x}\" y=\"{}\">{line}</text>\n", y + at * 17)
    };
    lines.iter().enumerate().map(line).collect()
}

/// A line in HTML as lines of the chat's width, with its styles.
fn wrapped(line: &str) -> Lines {
    let (mut lines, mut now, mut count) = (Vec::new(), String::new(), 0);
    let mut style = None;
    for word in pieces(line) {
        match word.as_str() {
            "<b>" => style = Some("b"),
            "<code>" | "<pre>" => style = Some("m"),
            tag if tag.starts_with('<') => style = style.filter(|_| !tag.starts_with("</")),
            word => {
                let length = unescaped(word).chars().count();
                if count > 0 && count + length > CHAT_COLUMNS {
                    lines.push(std::mem::take(&mut now));
                    count = 0;
                }
                let word = escaped(&unescaped(word));
                match style {
                    Some(class) => now += &format!("<tspan class=\"{class}\">{word}</tspan>"),
                    None => now += &word,
                }
                count += length;
            }
        }
    }
    lines.push(now);
    lines
}

/// Tags, and words with the spaces after them.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for letter in line.chars() {
        let last = pieces.last_mut().unwrap();
        let ended = if last.starts_with('<') {
            last.ends_with('>')
        } else {
            letter == '<' || (last.ends_with(' ') && letter != ' ')
        };
        if ended { pieces.push(letter.to_string()) } else { last.push(letter) }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() > columns {
        text.chars().take(columns - 1).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
