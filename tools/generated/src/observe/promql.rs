//! The names of metrics in a query. `promtool` checks the syntax.

use std::collections::BTreeSet;

/// Words that are followed by a list of labels.
const GROUPING: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const OPERATORS: [&str; 6] = ["and", "or", "unless", "offset", "bool", "atan2"];

/// Returns the names of the metrics that a query selects.
pub fn metrics(query: &str) -> BTreeSet<String> {
    let name = |selector: String| selector.split('{').next().unwrap_or_default().to_owned();
    selectors(query).into_iter().map(name).collect()
}

/// Returns the instant selectors of a query: metrics with their matchers, without ranges.
pub fn selectors(query: &str) -> BTreeSet<String> {
    let mut selectors = BTreeSet::new();
    let mut rest = query;
    while let Some(c) = rest.chars().next() {
        if is_word(c) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            rest = rest[end..].trim_start();
            if GROUPING.contains(&word) {
                rest = if rest.starts_with('(') { after(rest, ')') } else { rest };
            } else if !is_called(rest)
                && !word.starts_with(|c: char| c.is_ascii_digit())
                && !OPERATORS.contains(&word)
            {
                let matchers =
                    if rest.starts_with('{') { &rest[..rest.len() - after(rest, '}').len()] } else { "" };
                selectors.insert(format!("{word}{matchers}"));
            }
        } else {
            rest = match c {
                '{' => after(rest, '}'),
                '[' => after(rest, ']'),
                '"' => after(&rest[1..], '"'),
                _ => &rest[c.len_utf8()..],
            };
        }
    }
    selectors
}

/// Whether what follows a word shows that it is a function or an aggregation.
fn is_called(rest: &str) -> bool {
    let next = rest.split(|c| !is_word(c)).next().unwrap_or_default();
    rest.starts_with('(') || matches!(next, "by" | "without")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')
}

fn after(text: &str, end: char) -> &str {
    text.find(end).map_or("", |at| &text[at + end.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::{metrics, selectors};

    #[test]
    fn selectors_keep_their_matchers() {
        let found = selectors(r#"sum(rate(a_total{b="c", d=~"e|f"}[5m])) > 2 * b_total and on (x) c"#);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [r#"a_total{b="c", d=~"e|f"}"#, "b_total", "c"]);
    }

    #[test]
    fn functions_labels_and_numbers_are_no_metrics() {
        for (query, expected) in [
            ("up == 0", vec!["up"]),
            (
                r#"sum by (job, le) (rate(a_total{b="c_total", d=~"e|f"}[5m])) / on(g) group_left sum(h:i:rate5m) > 1.5"#,
                vec!["a_total", "h:i:rate5m"],
            ),
            ("max(a) without (b) - time() > 3 * c offset 5m and on() d unless e", vec!["a", "c", "d", "e"]),
            (r#"label_replace(a, "dst", "$1", "src", "(.*)") or vector(0)"#, vec!["a"]),
            ("histogram_quantile(0.99, sum by (le) (rate(a_bucket[$__rate_interval])))", vec!["a_bucket"]),
        ] {
            assert_eq!(metrics(query).into_iter().collect::<Vec<_>>(), expected, "{query}");
        }
    }
}
