//! Compares what a call names with what belongs to the bridge.

use std::borrow::Cow;

use crate::engine::guardrail::programs::Usage;
use crate::engine::guardrail::protected::Protected;
use crate::engine::guardrail::reach::GuardrailHit;
use crate::engine::guardrail::reasons::{belongs, may_name, only_known};
use crate::engine::guardrail::route::{Route, UNKNOWN};
use crate::engine::guardrail::site::{Bases, Operand, joined};
use crate::engine::guardrail::spelling::{Expansions, Spelling, pieces, tokens};
use crate::engine::guardrail::territory::Lie;
use crate::facts::links::{LinkTarget, Links};
use crate::facts::paths::Directories;
use crate::facts::shorten;

/// The judge of one call.
pub(super) struct GuardrailJudge<'g> {
    pub(super) own: &'g Protected,
    dirs: Directories<'g>,
    pub(super) links: &'g Links,
    /// The folder checked last, and whether it is near: nearly all paths of a call start in the
    /// same one.
    near: Option<(String, bool)>,
    pub(super) found: Option<GuardrailHit>,
}

impl<'g> GuardrailJudge<'g> {
    pub(super) fn new(own: &'g Protected, dirs: Directories<'g>, links: &'g Links) -> Self {
        Self { own, dirs, links, near: None, found: None }
    }

    /// Denies a call that runs in one of our own folders, because every bare name there is ours.
    pub(super) fn here(&mut self) {
        let Some(cwd) = self.dirs.cwd else { return };
        let lie = |path: &str| {
            let route = Route::new("/", path, false, "/");
            self.own.territory.lie(&route, self.dirs.home)
        };
        let led = match self.links.of(cwd) {
            Some(LinkTarget::To(paths)) => paths.as_slice(),
            Some(LinkTarget::Unknown(_)) | None => &[],
        };
        let mut all = [cwd].into_iter().chain(led.iter().map(String::as_str)).map(lie);
        let ours = all.find_map(|lie| if let Lie::Ours(own) = lie { Some(own) } else { None });
        if let Some(own) = ours {
            self.denies(format!(
                "The working directory is in a protected countersign folder: {own}."
            ));
        }
    }

    pub(super) fn denies(&mut self, reason: String) {
        self.found = Some(GuardrailHit::Denied(reason));
    }

    pub(super) fn takes(&mut self, hit: Option<GuardrailHit>) {
        match hit {
            Some(GuardrailHit::Denied(reason)) => self.denies(reason),
            Some(GuardrailHit::Asks(reason)) if !self.is_settled() => self.asks(|| reason),
            Some(GuardrailHit::Asks(_)) | None => {}
        }
    }

    pub(super) fn asks(&mut self, reason: impl FnOnce() -> String) {
        self.found.get_or_insert_with(|| GuardrailHit::Asks(reason()));
    }

    /// Records what the location of a path means for this use of it. Folders above ours are kept,
    /// because other words of the same command may continue from there.
    fn weigh(
        &mut self,
        text: &str,
        lie: &Lie,
        usage: Usage,
        above: &mut Vec<String>,
        route: &Route<'_>,
    ) {
        match lie {
            // Naming a folder above ours is harmless; going through it is not.
            Lie::Ours(own) => self.denies(belongs(text, own)),
            Lie::MayBeOurs(own) => self.asks(|| may_name(text, own)),
            Lie::Unknown if usage != Usage::Names => self.asks(|| only_known(text)),
            Lie::Above(found) if usage == Usage::Walks || found.walks => {
                let own = &found.own;
                let reason =
                    format!("{} contains a protected countersign file ({own})", shorten(text, 60));
                match found.below_home {
                    true => self.denies(reason + ". Agents may not go through it."),
                    false => self.asks(|| reason + ". It always needs a person."),
                }
                remember(above, route);
            }
            Lie::Above(_) => remember(above, route),
            Lie::Elsewhere | Lie::Unknown => {}
        }
    }

    /// Returns true when nothing that follows can change the finding.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.found, Some(GuardrailHit::Denied(_)))
    }

    fn is_near(&mut self, base: &str) -> bool {
        match &self.near {
            Some((known, near)) if known == base => *near,
            _ => {
                let near = self.own.territory.is_near(base);
                self.near = Some((base.to_owned(), near));
                near
            }
        }
    }

    pub(super) fn operand(
        &mut self,
        operand: &Operand<'_>,
        bases: &Bases<'_>,
        above: &mut Vec<String>,
    ) {
        // Anywhere in the word is enough: `--x=/own/path`, `a:/own/path`.
        if let Some(own) = self.own.territory.spelled_in(operand.text) {
            return self.denies(belongs(operand.text, own));
        }
        for piece in pieces(operand.text) {
            self.piece(piece, operand, bases, above);
        }
        for token in tokens(operand.text) {
            self.token(token, bases);
        }
    }

    fn piece(
        &mut self,
        piece: &str,
        operand: &Operand<'_>,
        bases: &Bases<'_>,
        above: &mut Vec<String>,
    ) {
        let expansions = Expansions { home: self.dirs.home, variables: operand.is_dynamic };
        for spelling in expansions.of(piece) {
            if self.is_settled() {
                return;
            }
            if spelling.text.contains(UNKNOWN) {
                self.unknown(&spelling.text, operand);
            }
            self.spelling(&spelling, operand, bases, above);
        }
    }

    fn spelling(
        &mut self,
        spelling: &Spelling<'_>,
        operand: &Operand<'_>,
        bases: &Bases<'_>,
        above: &mut Vec<String>,
    ) {
        let text = &*spelling.text;
        let cwd = bases.cwd.unwrap_or("/proc/self/cwd");
        let is_pattern = spelling.is_pattern || text.contains(UNKNOWN);
        let home = self.dirs.home;
        let sure: &[Cow<'_, str>] = if text.starts_with('/') { &ROOT } else { &bases.sure };
        for base in sure {
            // Far from our files, a relative path without `..` cannot reach them.
            if goes_up(text) || self.is_near(base) {
                let route = Route::new(base, text, is_pattern, cwd);
                let lie = match self.own.territory.lie(&route, home) {
                    // Even the shell does not know the path yet.
                    Lie::Ours(own) if text.contains(UNKNOWN) => Lie::MayBeOurs(own),
                    lie => lie,
                };
                self.weigh(operand.text, &lie, operand.usage, above, &route);
            }
            // With a long folder name, joining is most of the work.
            if !self.links.lead_nowhere() {
                self.led(&joined(base, text), operand, above);
            }
        }
        let is_relative = !text.starts_with(['/', UNKNOWN]);
        // The directory is unknown, so any relative name may be ours.
        if bases.is_lost && is_relative && !text.starts_with('-') && operand.usage != Usage::Names {
            self.asks(|| only_known(operand.text));
        }
        if bases.is_loose && is_relative {
            self.seen_from_above(text, is_pattern, operand);
        }
    }

    /// Checks the targets of the host's links.
    fn led(&mut self, path: &str, operand: &Operand<'_>, above: &mut Vec<String>) {
        match self.links.of(path) {
            None => {}
            Some(LinkTarget::Unknown(why)) if operand.usage != Usage::Names => {
                self.asks(|| format!("The link {} cannot be followed: {why}.", shorten(path, 60)));
            }
            Some(LinkTarget::Unknown(_)) => {}
            Some(LinkTarget::To(paths)) => {
                for path in paths {
                    let route = Route::new("/", path, false, "/");
                    let lie = self.own.territory.lie(&route, self.dirs.home);
                    self.weigh(operand.text, &lie, operand.usage, above, &route);
                }
            }
        }
    }

    /// Checks a text whose beginning only the shell knows: it may be any folder above ours.
    fn unknown(&mut self, text: &str, operand: &Operand<'_>) {
        if let Some(rest) = text.strip_prefix(UNKNOWN).filter(|rest| rest.starts_with('/'))
            && let Some(own) = self.named_from_above(rest.trim_start_matches('/'), true)
        {
            return self.denies(belongs(operand.text, &own));
        }
        if operand.usage != Usage::Names {
            self.asks(|| only_known(operand.text));
        }
    }

    fn seen_from_above(&mut self, text: &str, is_pattern: bool, operand: &Operand<'_>) {
        if let Some(own) = self.named_from_above(text, is_pattern) {
            self.asks(|| may_name(operand.text, &own));
        }
    }

    /// Returns the file of ours that the text names from some folder above it.
    fn named_from_above(&self, text: &str, is_pattern: bool) -> Option<String> {
        self.own.territory.above().find_map(|folder| {
            let route = Route::new(folder, text, is_pattern, "/");
            match self.own.territory.lie(&route, self.dirs.home) {
                Lie::Ours(own) => Some(own),
                _ => None,
            }
        })
    }

    /// Checks a part of a longer text.
    pub(super) fn token(&mut self, token: &str, bases: &Bases<'_>) {
        let expansions = Expansions { home: self.dirs.home, variables: false };
        let cwd = bases.cwd.unwrap_or("/proc/self/cwd");
        for Spelling { text, is_pattern } in expansions.of(token) {
            let sure: &[Cow<'_, str>] = if text.starts_with('/') { &ROOT } else { &bases.sure };
            for base in sure {
                if !goes_up(&text) && !self.is_near(base) {
                    continue;
                }
                let route = Route::new(base, &text, is_pattern, cwd);
                if let Lie::Ours(own) = self.own.territory.lie(&route, self.dirs.home) {
                    return self.denies(belongs(token, &own));
                }
            }
        }
    }
}

static ROOT: [Cow<'static, str>; 1] = [Cow::Borrowed("/")];

fn goes_up(text: &str) -> bool {
    text.starts_with('/') || text.contains("..")
}

fn remember(above: &mut Vec<String>, route: &Route<'_>) {
    let folder = route.text();
    // A limit, because each of these is tried with every other word.
    if above.len() < 8 && !above.contains(&folder) {
        above.push(folder);
    }
}
