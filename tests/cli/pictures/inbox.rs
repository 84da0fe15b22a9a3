//! The inbox as an SVG: the words and buttons of the real page, in a layout of the picture's own, so
//! that no font of any machine changes it.

use super::drawing::escaped;
use serde::Deserialize;
use std::fmt::Write as _;

/// What an open page shows.
#[derive(Debug, Deserialize)]
pub struct Shown {
    pages: Vec<String>,
    groups: Vec<Group>,
    card: Card,
}

#[derive(Debug, Deserialize)]
struct Group {
    tone: String,
    name: String,
    project: String,
    many: String,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    first: String,
    hint: String,
    left: String,
    quick: Vec<String>,
    chosen: bool,
}

#[derive(Debug, Deserialize)]
struct Card {
    title: String,
    origin: String,
    parts: Vec<String>,
    buttons: Vec<Button>,
}

#[derive(Debug, Deserialize)]
struct Button {
    style: String,
    label: String,
    key: String,
}

/// Reads what the page shows; ages are left to the moment in which it came.
pub const READ: &str = "JSON.stringify((() => {
  const text = (node) => (node?.textContent ?? '').trim().replace(/\\s+/g, ' ');
  const all = (node, selector) => [...node.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const aged = (node) => {
    const copy = node.cloneNode(true);
    for (const time of copy.querySelectorAll('time')) time.textContent = 'just now';
    return text(copy);
  };
  const card = document.querySelector('#detail .card');
  return {
    pages: all(document, '.pages a').map((link) => all(link, 'span').map(text).join(' ')),
    groups: all(document, '#open .group').map((group) => ({
      tone: group.dataset.group,
      name: text(group.querySelector('.group-title > :first-child')),
      project: text(group.querySelector('.project')),
      many: text(group.querySelector('.many')),
      rows: all(group, '.item').map((row) => ({
        first: text(row.querySelector('.gist')),
        hint: text(row.querySelector('.hint')),
        left: text(row.querySelector('.left')),
        quick: all(row, '.quick button').map(text),
        chosen: row.querySelector('[aria-current]') !== null,
      })),
    })),
    card: {
      title: text(card.querySelector('h2')),
      origin: aged(card.querySelector('.origin')),
      parts: [...card.querySelectorAll('.matter > :not(.head, .origin, .foot), .foot > *')]
        .map((part) => (part.matches('details') ? `▸ ${text(part.querySelector('summary'))}` : text(part))),
      buttons: all(card, '.buttons .row button, .buttons summary').map((button) => ({
        style: button.dataset.style ?? '',
        label: text(button.querySelector('span') ?? button),
        key: text(button.querySelector('kbd')),
      })),
    },
  };
})())";

const WIDTH: usize = 960;
/// Where the detail begins.
const MIDDLE: usize = 390;
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#1d1c1a}\
.h{font-weight:650}.s{fill:#66625b;font-size:12px}.m{font-family:ui-monospace,Menlo,Consolas,monospace}\
.e{text-anchor:end}.c{text-anchor:middle}.critical{fill:#b3261e}\
.on text{fill:#fff;font-weight:650}.yes{fill:#1d6b47}.no{fill:#a62f27}\
.paper{fill:#f5f4f0}.sheet{fill:#fff;stroke:#e2dfd7}.go{fill:#1d6b47}.chosen{fill:#ecebe4}.line{stroke:#e2dfd7}\
@media(prefers-color-scheme:dark){text{fill:#ebe9e3}.s{fill:#a19d94}.critical{fill:#ff8a80}.on text{fill:#04150c}\
.yes{fill:#47b083}.no{fill:#f08b80}.paper{fill:#121211}.sheet{fill:#1b1b19;stroke:#31302c}.go{fill:#47b083}\
.chosen{fill:#2a2926}.line{stroke:#31302c}}";

impl Shown {
    /// Draws it, with words that are the same in every run.
    pub fn svg(&self, steady: impl Fn(&str) -> String) -> String {
        let mut draw = Drawing { out: String::new(), steady: &steady };
        let list = self.list(&mut draw);
        let detail = self.detail(&mut draw, list);
        let height = list.max(detail) + 16;
        let mut pages = String::new();
        let mut x = 150;
        for page in &self.pages {
            let _ = write!(pages, "<text x=\"{x}\" y=\"28\" class=\"h\">{}</text>", escaped(page));
            x += 26 + 8 * page.chars().count();
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <title>The inbox: what waits, and one request with its buttons</title>\n\
             <style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\" rx=\"10\"/>\n\
             <rect class=\"go\" x=\"16\" y=\"12\" width=\"22\" height=\"22\" rx=\"6\"/>\n\
             <text x=\"46\" y=\"28\" class=\"h\">countersign</text>{pages}\n\
             <path class=\"line\" d=\"M0 46H{WIDTH}M{MIDDLE} 46V{height}\"/>\n{}</svg>\n",
            draw.out
        )
    }

    /// The list on the left; where it ends.
    fn list(&self, draw: &mut Drawing) -> usize {
        let mut y = 72;
        for group in &self.groups {
            let class = if group.tone == "critical" { "h critical" } else { "h" };
            draw.text((16, y), class, &group.name, 22);
            let after = 26 + 8 * group.name.chars().count();
            draw.text((after, y), "s", &group.project, 24);
            draw.text((MIDDLE - 14, y), "s e", &group.many, 8);
            y += 14;
            for row in &group.rows {
                y = row.draw(draw, y);
            }
            y += 20;
        }
        y
    }

    /// The request on the right; where it ends. Its buttons are at the foot.
    fn detail(&self, draw: &mut Drawing, list: usize) -> usize {
        let x = MIDDLE + 20;
        draw.text((x, 76), "h m", &self.card.title, 70);
        draw.text((x, 98), "s", &self.card.origin, 90);
        let mut y = 126;
        for part in &self.card.parts {
            draw.text((x, y), "", part, 76);
            y += 22;
        }
        y = y.max(list.saturating_sub(44));
        let mut at = x;
        for button in &self.card.buttons {
            let label = format!("{}  {}", button.label, button.key);
            let width = 22 + 8 * label.trim().chars().count();
            if at + width > WIDTH - 12 {
                (at, y) = (x, y + 40);
            }
            button.draw(draw, (at, y, width), label.trim());
            at += width + 8;
        }
        y + 34
    }
}

impl Row {
    fn draw(&self, draw: &mut Drawing, y: usize) -> usize {
        if self.chosen {
            let _ = writeln!(
                draw.out,
                "<rect class=\"chosen\" x=\"0\" y=\"{y}\" width=\"{MIDDLE}\" height=\"46\"/>"
            );
        }
        let columns = if self.quick.is_empty() { 36 } else { 31 };
        draw.text((16, y + 19), "m", &self.first, columns);
        draw.text((16, y + 37), "s", &self.hint, 42);
        let right = MIDDLE - 14 - 30 * self.quick.len();
        draw.text((right, y + 19), "s e", &self.left, 8);
        for (at, sign) in self.quick.iter().enumerate() {
            let x = right + 6 + 30 * at;
            let class = if sign == "✓" { "h c yes" } else { "h c no" };
            let _ = writeln!(
                draw.out,
                "<rect class=\"sheet\" x=\"{x}\" y=\"{}\" width=\"26\" height=\"26\" rx=\"6\"/>",
                y + 10
            );
            draw.text((x + 13, y + 28), class, sign, 2);
        }
        y + 46
    }
}

impl Button {
    fn draw(&self, draw: &mut Drawing, (x, y, width): (usize, usize, usize), label: &str) {
        let (group, look, class) = match self.style.as_str() {
            "approve" => ("on", "go", "c"),
            "always" => ("", "sheet", "c yes h"),
            "deny" => ("", "sheet", "c no h"),
            _ => ("", "sheet", "c"),
        };
        let _ = writeln!(
            draw.out,
            "<g class=\"{group}\"><rect class=\"{look}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"32\" rx=\"8\"/>"
        );
        draw.text((x + width / 2, y + 21), class, label, 40);
        draw.out.push_str("</g>\n");
    }
}

struct Drawing<'a> {
    out: String,
    steady: &'a dyn Fn(&str) -> String,
}

impl Drawing<'_> {
    fn text(&mut self, (x, y): (usize, usize), class: &str, text: &str, columns: usize) {
        let text = (self.steady)(text);
        if text.is_empty() {
            return;
        }
        let text = escaped(&super::drawing::cut(&text, columns));
        let _ = writeln!(self.out, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>");
    }
}
