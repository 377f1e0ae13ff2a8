//! The units that cargo compiled, from the reports of `cargo build --timings`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One compilation in cargo's report.
#[derive(Debug, Deserialize)]
struct Unit {
    name: String,
    version: String,
    target: String,
    /// In seconds.
    duration: f64,
}

/// Prints the slowest compilations of the reports that are there, each with its longest time.
pub(super) fn print(rows: usize) -> anyhow::Result<()> {
    super::heading("compilations, seconds (the longest of the recorded builds)");
    let mut slowest = BTreeMap::<String, f64>::new();
    for entry in std::fs::read_dir(xtask::target().join("cargo-timings")).into_iter().flatten() {
        let report = std::fs::read_to_string(entry?.path())?;
        for unit in units(&report) {
            let name = format!("{} {}{}", unit.name, unit.version, unit.target);
            let seconds = slowest.entry(name).or_default();
            *seconds = seconds.max(unit.duration);
        }
    }
    let mut units: Vec<_> = slowest.into_iter().collect();
    units.sort_unstable_by(|(_, a), (_, b)| b.total_cmp(a));
    let total: f64 = units.iter().map(|(_, seconds)| seconds).sum();
    println!("  {total:>8.1}  all {}", units.len());
    for (name, seconds) in units.iter().take(rows) {
        println!("  {seconds:>8.1}  {name}");
    }
    Ok(())
}

/// The units of a report, which has them as JSON in a script.
fn units(report: &str) -> Vec<Unit> {
    let json = report.split_once("const UNIT_DATA = ").and_then(|(_, rest)| rest.split_once("];"));
    json.and_then(|(json, _)| serde_json::from_str(&format!("{json}]")).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_the_script_of_a_report() {
        let report = "<script>\nconst UNIT_DATA = [\n {\"i\": 0, \"name\": \"gpu\", \"version\": \"0.1.0\", \
                      \"target\": \" lib\", \"duration\": 1.5}\n];\nconst CONCURRENCY_DATA = [];</script>";
        let units = units(report);
        assert_eq!((units[0].name.as_str(), units[0].duration), ("gpu", 1.5));
        assert!(super::units("no report").is_empty());
    }
}
