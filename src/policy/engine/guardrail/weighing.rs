//! Passes what is found in a call to its judge.

use std::borrow::Cow;

use super::judge::GuardrailJudge;
use super::programs::Usage;
use super::reasons::belongs;
use super::site::{Bases, Operand, Sink};
use super::spelling::tokens;
use crate::shell::Word;

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
        self.is_settled()
    }
}
