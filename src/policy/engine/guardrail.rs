//! Denies and asks that no rule, mode, grant or button lifts: for the bridge's own files, program
//! and addresses, and by the operator's denies.
//!
//! Every text that a call may turn into a path raises two questions: which paths may it stand for
//! (`spelling`, `route`), and where are they relative to the bridge's own files (`territory`). A
//! path that is ours is denied. A folder that contains ours is denied or asked about where the
//! command may go through it. A path that only the running shell knows is asked about.
//!
//! INVARIANT: a path that bash would open at or below what is ours is never allowed. Tests compare
//! with real bash (`tests/guardrail`).

mod addresses;
pub mod own_program;
pub(super) mod territory;
pub(super) mod walk;

use std::borrow::Cow;

use crate::engine::guardrail::addresses::{Addresses, PublicAddress};
use crate::engine::guardrail::own_program::OwnProgram;
pub use crate::engine::guardrail::territory::fits_name;
use crate::engine::guardrail::territory::{
    Expansions, Lie, Route, Spelling, Territory, pieces, tokens,
};
pub use crate::engine::guardrail::walk::lookups;
use crate::engine::guardrail::walk::{Bases, Operand, Sink, Usage, joined, walk};
use crate::facts::call::Call;
use crate::facts::links::{LinkTarget, Links};
use crate::facts::paths::{self, Directories, UNKNOWN};
use crate::facts::shorten;
use crate::facts::tools::Kind;
use crate::rules::Rules;
use crate::shell::{Scan, Word};

/// Everything that belongs to the bridge, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Guardrail {
    own: Protected,
    /// Rules of the operator whose denies apply whatever else is allowed.
    pub(crate) denies: Rules,
}

impl Guardrail {
    /// Creates the guardrail for what belongs to the bridge.
    #[must_use]
    pub fn new(ours: Ours) -> Self {
        Self { own: Protected::new(ours), denies: Rules::default() }
    }

    /// Adds the denies of the operator's own rules.
    #[must_use]
    pub fn with_denies(self, denies: Rules) -> Self {
        Self { denies, ..self }
    }

    /// Returns what a call reaches, or may reach, of the bridge's own.
    pub fn reach(
        &self,
        call: &Call,
        scan: Option<(&str, &Scan<'_>)>,
        dirs: Directories<'_>,
    ) -> Option<GuardrailHit> {
        // A question runs nothing.
        if self.own.is_empty() || call.kind() == Kind::Question {
            return None;
        }
        let mut judge = GuardrailJudge::new(&self.own, dirs, &call.links);
        judge.here();
        walk(call, scan, dirs, &mut judge);
        if call.links.is_cut() {
            judge.asks(|| "It names more paths than can be followed.".to_owned());
        }
        judge.found
    }
}

/// The guardrail's result for a call that it does not let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardrailHit {
    /// The call may reach something of the bridge's own: a person is asked, whatever allows it.
    Asks(String),
    /// The call reaches it.
    Denied(String),
}

/// Everything that belongs to the bridge.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// Absolute paths of files and folders: config, rules, store, socket, tokens.
    pub paths: Vec<String>,
    /// Names and paths of the program.
    pub programs: Vec<String>,
    /// Addresses of the daemon and its store (`127.0.0.1:7117`).
    pub addresses: Vec<String>,
    /// Names and addresses of this machine, besides those that every machine has.
    pub hosts: Vec<String>,
    /// The address of the inbox behind a proxy (`https://approve.example`).
    pub public_url: Option<String>,
    /// Processes of the daemon.
    pub pids: Vec<u32>,
}

/// Everything that belongs to the bridge, prepared for comparison.
#[derive(Clone, Debug, Default)]
struct Protected {
    territory: Territory,
    programs: OwnProgram,
    addresses: Addresses,
    public: Option<PublicAddress>,
}

impl Protected {
    fn new(ours: Ours) -> Self {
        // `/proc/PID` shows the daemon's environment and memory.
        let processes = ours.pids.iter().map(|pid| format!("/proc/{pid}"));
        Self {
            territory: Territory::new(ours.paths.into_iter().chain(processes)),
            programs: OwnProgram::new(ours.programs),
            addresses: Addresses::new(ours.addresses, &ours.hosts),
            public: ours.public_url.as_deref().and_then(PublicAddress::new),
        }
    }

    fn is_empty(&self) -> bool {
        self.territory.is_empty()
            && self.programs.is_empty()
            && self.addresses.is_empty()
            && self.public.is_none()
    }
}

// Compares what a call names with what belongs to the bridge.

/// The judge of one call.
struct GuardrailJudge<'g> {
    own: &'g Protected,
    dirs: Directories<'g>,
    links: &'g Links,
    /// The folder checked last, and whether it is near: nearly all paths of a call start in the
    /// same one.
    near: Option<(String, bool)>,
    found: Option<GuardrailHit>,
}

impl<'g> GuardrailJudge<'g> {
    fn new(own: &'g Protected, dirs: Directories<'g>, links: &'g Links) -> Self {
        Self { own, dirs, links, near: None, found: None }
    }

    /// Denies a call that runs in one of our own folders, because every bare name there is ours.
    fn here(&mut self) {
        let Some(cwd) = self.dirs.cwd else { return };
        let lie = |path: &str| {
            let route = Route::new("/", path, false, "/");
            self.own.territory.lie(&route, self.dirs.home)
        };
        let led = self.links.places(cwd);
        let mut all = [cwd].into_iter().chain(led.iter().map(String::as_str)).map(lie);
        let ours = all.find_map(|lie| if let Lie::Ours(own) = lie { Some(own) } else { None });
        if let Some(own) = ours {
            self.denies(format!(
                "The working directory is in a protected countersign folder: {own}."
            ));
        }
    }

    fn denies(&mut self, reason: String) {
        self.found = Some(GuardrailHit::Denied(reason));
    }

    fn takes(&mut self, hit: Option<GuardrailHit>) {
        match hit {
            Some(GuardrailHit::Denied(reason)) => self.denies(reason),
            Some(GuardrailHit::Asks(reason)) if !self.is_done() => self.asks(|| reason),
            Some(GuardrailHit::Asks(_)) | None => {}
        }
    }

    fn asks(&mut self, reason: impl FnOnce() -> String) {
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
                if found.below_home {
                    self.denies(reason + ". Agents may not go through it.")
                } else {
                    self.asks(|| reason + ". It always needs a person.")
                }
                remember(above, route);
            }
            Lie::Above(_) => remember(above, route),
            Lie::Elsewhere | Lie::Unknown => {}
        }
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

    fn operand(&mut self, operand: &Operand<'_>, bases: &Bases<'_>, above: &mut Vec<String>) {
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
            if self.is_done() {
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
    fn token(&mut self, token: &str, bases: &Bases<'_>) {
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

// Passes what is found in a call to its judge.

impl Sink for GuardrailJudge<'_> {
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>) {
        let mut above = Vec::new();
        for operand in operands {
            if self.is_done() {
                return;
            }
            self.operand(operand, bases, &mut above);
        }
        // `tar -C /above ours`: one word names a folder above ours and another continues from it.
        if above.is_empty() || self.is_done() {
            return;
        }
        let sure = above.into_iter().map(Cow::Owned).collect();
        let further = Bases { cwd: bases.cwd, sure, is_loose: false, is_lost: false };
        for operand in operands.iter().filter(|operand| !operand.text.starts_with('/')) {
            let names = Operand { usage: Usage::Names, is_dynamic: false, ..*operand };
            self.operand(&names, &further, &mut Vec::new());
        }
    }

    fn text(&mut self, text: &str, bases: &Bases<'_>) {
        if let Some(own) = self.own.territory.spelled_in(text) {
            return self.denies(belongs(text, own));
        }
        // The whole text may be one path, which `tokens` would split at its special characters.
        let whole = Some(text).filter(|text| text.len() < 4096);
        for token in whole.into_iter().chain(tokens(text)) {
            if self.is_done() {
                return;
            }
            self.token(token, bases);
        }
        let public = || self.own.public.as_ref()?.forbid([text].into_iter());
        if let Some(reason) = self.own.addresses.forbid_text(text).or_else(public) {
            self.denies(reason);
        }
    }

    fn values(&mut self, values: &[&str]) {
        let hit = self.own.addresses.judge_values(values);
        self.takes(hit);
    }

    fn command(&mut self, argv: &[Word<'_>]) {
        if self.is_done() {
            return;
        }
        let is_ours = |name: &str| self.links.is_own_program(name);
        let hit = self.own.programs.judge(argv, is_ours);
        self.takes(hit);
        let hit = self.own.addresses.judge(argv);
        self.takes(hit);
        let words = argv.iter().map(|word| &*word.text);
        if let Some(reason) = self.own.public.as_ref().and_then(|public| public.forbid(words)) {
            self.denies(reason);
        }
    }

    fn given(&mut self, program: &str, text: &str) {
        let mentioned = self.own.programs.mentioned(program, text);
        let hit = mentioned.or_else(|| self.own.addresses.judge_texts(Some(program), &[text]));
        self.takes(hit);
    }

    fn redirect(&mut self, target: &Word<'_>) {
        let hit = self.own.addresses.connection(target);
        self.takes(hit);
    }

    fn unseen(&mut self, why: &'static str) {
        self.asks(|| format!("A part of it {why}, and may reach a protected countersign file."));
    }

    fn is_done(&self) -> bool {
        matches!(self.found, Some(GuardrailHit::Denied(_)))
    }
}

fn belongs(text: &str, own: &str) -> String {
    if paths::clean(text, Directories::default()) == own || text.len() > 60 {
        format!("Protected countersign file: {own}. Agents may not use it.")
    } else {
        format!("Protected countersign file: {own}, reached by {text}. Agents may not use it.")
    }
}

fn may_name(text: &str, own: &str) -> String {
    format!("{} may be a protected countersign file ({own}).", shorten(text, 60))
}

fn only_known(text: &str) -> String {
    format!(
        "What {} names is only known when it runs; it may be a protected countersign file.",
        shorten(text, 60)
    )
}
