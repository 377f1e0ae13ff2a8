//! Values for a path and the paths below it.

use std::cmp::Reverse;

/// Patterns of paths with their values. A segment `*` matches any.
pub(crate) struct Table<T>(Vec<(&'static str, T)>);

impl<T> Table<T> {
    /// Of several matching patterns, the one with the most segments wins; among those, the one with the
    /// fewest `*`.
    pub(crate) fn new(rows: impl Iterator<Item = (&'static str, T)>) -> Self {
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(pattern, _)| (Reverse(pattern.split('/').count()), pattern.matches('*').count()));
        Self(rows)
    }

    pub(crate) fn find(&self, path: &str) -> Option<&T> {
        self.0.iter().find(|(pattern, _)| fits(pattern, path)).map(|(_, row)| row)
    }
}

/// Whether a path matches a pattern, or is below it.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    pattern.split('/').all(|wanted| segments.next().is_some_and(|found| wanted == "*" || wanted == found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_pattern_counts() {
        let table =
            Table::new(["jobs/*", "jobs", "jobs/quote", "jobs/*/log"].into_iter().map(|one| (one, one)));
        for (path, expected) in [
            ("jobs", Some("jobs")),
            ("jobs/job_1", Some("jobs/*")),
            ("jobs/job_1/result", Some("jobs/*")),
            ("jobs/job_1/log/x", Some("jobs/*/log")),
            ("jobs/quote", Some("jobs/quote")),
            ("job", None),
        ] {
            assert_eq!(table.find(path).copied(), expected, "{path}");
        }
    }
}
