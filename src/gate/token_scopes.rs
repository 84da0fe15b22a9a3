//! What the token of an agent is for: a profile, and where its asks are shown.

use super::{
    ask::{plan::RoutePlan, step::AskStep},
    people::People,
    routes::{Moment, Routes},
};

impl Routes {
    /// Whether a target or a route has this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.known().contains(&name)
    }

    /// What a token can be for.
    pub(super) fn known(&self) -> Vec<&str> {
        let routes = self.list.iter().filter(|it| !it.to.is_empty()).map(|it| it.name.as_str());
        let chats = self.chats.keys().map(String::as_str);
        std::iter::once("inbox").chain(chats).chain(routes).collect()
    }

    /// Where an ask is shown, and what happens while nobody answers, at this target or by this
    /// route alone.
    pub(super) fn only(
        &self,
        name: &str,
        people: &People,
        critical: bool,
        at: Moment<'_>,
    ) -> (Option<RoutePlan>, Vec<AskStep>) {
        let one = |targets| RoutePlan { route: name.to_owned(), targets, ..RoutePlan::default() };
        if let Some(target) = self.chats.get(name) {
            return (Some(one(vec![target.clone()])), Vec::new());
        }
        match self.list.iter().find(|route| route.name == name) {
            Some(route) => (
                self.plan_of(&[route], people, critical, at),
                self.steps_of(route, people, critical, at),
            ),
            None => (Some(one(Vec::new())), Vec::new()),
        }
    }
}
