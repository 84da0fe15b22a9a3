//! The workers that are known at the moment. The rules of one are in its file, so it can be
//! forgotten whenever there is no room, and nobody is locked out by names that somebody made up.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// So many are remembered.
pub(super) const MOST: usize = 1000;
/// One that has made no call for so long is forgotten.
const IDLE: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct KnownWorkers<W> {
    by_path: HashMap<PathBuf, (Arc<W>, Instant)>,
}

impl<W> Default for KnownWorkers<W> {
    fn default() -> Self {
        Self { by_path: HashMap::new() }
    }
}

impl<W> KnownWorkers<W> {
    /// The worker whose rules are there, if it is known.
    pub(super) fn get(&self, path: &Path) -> Option<Arc<W>> {
        self.by_path.get(path).map(|(worker, _)| worker.clone())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &W> {
        self.by_path.values().map(|(worker, _)| &**worker)
    }

    /// Notes that a worker makes a call.
    pub(super) fn put(&mut self, path: &Path, worker: Arc<W>, now: Instant) {
        self.by_path.insert(path.to_owned(), (worker, now));
    }

    /// Forgets the idle, and so many more that there is room for one; where their rules are.
    pub(super) fn make_room(&mut self, main: &Path, now: Instant) -> Vec<PathBuf> {
        let age = |path: &Path| (path != main).then(|| self.by_path.get(path).map(|(_, at)| *at));
        let mut others: Vec<(Instant, PathBuf)> =
            (self.by_path.keys()).filter_map(|path| Some((age(path)??, path.clone()))).collect();
        others.sort();
        let many = (others.len() + 1).saturating_sub(MOST);
        let idle = others.iter().filter(|(at, _)| now.duration_since(*at) >= IDLE).count();
        others.truncate(many.max(idle));
        let forgotten: Vec<PathBuf> = others.into_iter().map(|(_, path)| path).collect();
        for path in &forgotten {
            self.by_path.remove(path);
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_idle_for_longest_makes_room_and_the_main_file_never_does() {
        let (mut known, main, start) = (KnownWorkers::default(), Path::new("main"), Instant::now());
        known.put(main, Arc::new(()), start);
        let name = |n: usize| PathBuf::from(format!("w{n}"));
        for n in 0..MOST {
            assert_eq!(known.make_room(main, start), Vec::<PathBuf>::new(), "{n}");
            known.put(&name(n), Arc::new(()), start + Duration::from_millis(n as u64));
        }
        known.put(&name(0), Arc::new(()), start + Duration::from_secs(9));
        assert_eq!(known.make_room(main, start), [name(1)]);
        known.put(&name(MOST), Arc::new(()), start + Duration::from_secs(9));
        let later = start + Duration::from_secs(2) + IDLE;
        assert_eq!(known.make_room(main, later).len(), MOST - 2);
        assert!([main, &name(0), &name(MOST)].iter().all(|path| known.get(path).is_some()));
    }
}
