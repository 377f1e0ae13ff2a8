//! Compares `/metrics` of a service with `docs/METRICS.md`.

use std::collections::{BTreeMap, BTreeSet};

/// Asserts that all series are documented, each with exactly its labels.
pub fn assert_documented(served: &str) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/METRICS.md");
    let documented = documented(&std::fs::read_to_string(file).unwrap());
    for line in served.lines().filter(|line| !line.starts_with('#')) {
        let (name, labels) = parse(line);
        let of_histogram = ["_bucket", "_count", "_sum"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let known = documented.get(name).or_else(|| documented.get(of_histogram?));
        let known = known.unwrap_or_else(|| panic!("{name} is not in docs/METRICS.md: cargo xtask metrics"));
        let labels: BTreeSet<&str> = labels.into_iter().filter(|label| *label != "le").collect();
        let expected: BTreeSet<&str> = known.iter().map(String::as_str).collect();
        assert_eq!(labels, expected, "labels of {name}: as served, and as documented");
    }
}

/// Returns the series: names with labels, without values.
#[must_use]
pub fn series(served: &str) -> BTreeSet<&str> {
    let samples = served.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.rsplit_once(' ').map(|(series, _)| series)).collect()
}

/// The labels of each metric.
fn documented(text: &str) -> BTreeMap<String, Vec<String>> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let (name, _kind, labels) = (cells.next()?.strip_suffix('`')?, cells.next()?, cells.next()?);
        let labels = labels.split(", ").map(|label| label.trim_matches('`').to_owned());
        Some((name.to_owned(), labels.filter(|label| !label.is_empty()).collect()))
    });
    rows.collect()
}

/// Name and labels of a sample. No value of a label may contain `",`.
fn parse(line: &str) -> (&str, Vec<&str>) {
    let Some((name, rest)) = line.split_once('{') else {
        return (line.split(' ').next().unwrap_or_default(), vec![]);
    };
    let labels = rest.rsplit_once('}').map_or("", |(labels, _)| labels);
    let names = labels.split("\",").filter_map(|pair| pair.split_once("=\"").map(|(label, _)| label));
    (name, names.collect())
}
