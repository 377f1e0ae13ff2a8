//! `cargo xtask drill --month`: a simulated healthy month does not page, and each trouble in another one does.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Instant,
};

use anyhow::{Context, ensure};
use generated::observe::alerts::{self, Rule};

use super::{
    prometheus::{self, Prometheus},
    simulation::{STEP, Simulation, TROUBLES, Traffic, Trouble},
};

/// A Monday, in seconds since 1970.
const BEGIN: i64 = 1_767_571_200;
const DAY: i64 = 86_400;
/// Time between two failures: longer than the slowest window of a page.
const BETWEEN: i64 = 7 * 3600;
/// A query has at most 11,000 points.
const POINTS: i64 = 10_000;
/// Days of samples that are generated and loaded at a time.
const CHUNK: i64 = 2;

const TRAFFIC: Traffic = Traffic { requests: 20.0, pages: 30.0, starts: 3.0 };

/// Days from which on it is a month.
pub const MONTH: i64 = 30;
/// Days of the check before each commit.
pub const SHORT: i64 = 2;

/// Simulates `days` healthy days, and as many hours with troubles as there are alerts that page.
pub async fn run(days: i64, seed: u64) -> anyhow::Result<()> {
    let rules = Pages::read()?;
    let known: BTreeSet<&str> = TROUBLES.iter().map(|trouble| trouble.alert).collect();
    let paging: BTreeSet<&str> = rules.pages.iter().map(|page| page.alert.as_str()).collect();
    ensure!(known == paging, "each alert that pages needs a trouble: {known:?} and {paging:?}");

    let folder = std::env::temp_dir().join(format!("atelier-month-{}", std::process::id()));
    let result = both(&rules, &folder, days, seed).await;
    let _ = std::fs::remove_dir_all(&folder);
    result
}

async fn both(rules: &Pages, folder: &Path, days: i64, seed: u64) -> anyhow::Result<()> {
    let begun = Instant::now();
    let healthy = evaluate(rules, folder, days * DAY, Simulation::new(seed, TRAFFIC)).await?;
    let pages: usize = healthy.values().map(Vec::len).sum();
    println!(
        "{days} healthy days (seed {seed}): {} paging rules, {pages} pages ({:.0} s)",
        rules.pages.len(),
        begun.elapsed().as_secs_f64()
    );
    for (alert, times) in healthy.iter().filter(|(_, times)| !times.is_empty()) {
        println!(
            "  {alert} at {:?} (seconds since the beginning)",
            times.iter().map(|at| at - BEGIN).collect::<Vec<_>>()
        );
    }

    let begun = Instant::now();
    let troubles: Vec<(i64, Trouble)> =
        (1..).zip(TROUBLES).map(|(n, trouble)| (BEGIN + n * BETWEEN, trouble)).collect();
    let length = i64::try_from(TROUBLES.len() + 1)? * BETWEEN;
    let simulation = Simulation::new(seed, TRAFFIC).with_troubles(troubles.clone());
    let unhealthy = evaluate(rules, folder, length, simulation).await?;
    let mut faults = Vec::new();
    for (from, trouble) in &troubles {
        let to = from + trouble.minutes * 60;
        for (alert, times) in &unhealthy {
            let inside = times.iter().find(|at| (*from..to + BETWEEN / 2).contains(*at));
            match (alert == trouble.alert, inside) {
                (true, None) => faults.push(format!("{alert} did not page")),
                (true, Some(at)) if *at > to => faults.push(format!("{alert} paged when all was over")),
                (false, Some(_)) => faults.push(format!("{alert} paged beside {}", trouble.alert)),
                _ => {}
            }
        }
    }
    println!(
        "{} troubles: {} ({:.0} s)",
        troubles.len(),
        if faults.is_empty() { "each paged, and only its own alert".to_owned() } else { faults.join("; ") },
        begun.elapsed().as_secs_f64()
    );
    ensure!(pages == 0, "a healthy month paged {pages} times");
    ensure!(faults.is_empty(), "the troubles did not page as they should");
    Ok(())
}

/// The times at which each alert begins to page.
type Paged = BTreeMap<String, Vec<i64>>;

async fn evaluate(
    rules: &Pages,
    folder: &Path,
    seconds: i64,
    mut simulation: Simulation,
) -> anyhow::Result<Paged> {
    let folder = prometheus::fresh(folder)?;
    let end = BEGIN + seconds;
    let mut from = BEGIN;
    while from < end {
        let to = (from + CHUNK * DAY).min(end);
        prometheus::load(&folder, &simulation.samples(from, to)).await?;
        from = to;
    }
    let prometheus = Prometheus::start(&folder, &[]).await?;
    let paged = rules.paged(&prometheus, end).await;
    prometheus.stop().await;
    paged
}

/// A rule that pages, with the expressions of recording rules in place of their names.
struct Page {
    alert: String,
    expr: String,
    /// Seconds.
    lasting: i64,
}

struct Pages {
    pages: Vec<Page>,
}

impl Pages {
    fn read() -> anyhow::Result<Self> {
        let rules = alerts::rules()?;
        let recorded: Vec<(&str, &str)> =
            rules.iter().filter_map(|rule| Some((rule.record.as_deref()?, rule.expr.as_str()))).collect();
        let pages = rules.iter().filter(|rule| rule.severity() == Some("page"));
        let pages = pages.map(|rule| {
            let alert = rule.alert.clone().context("a severity without an alert")?;
            let mut expr = rule.expr.clone();
            for (name, of) in &recorded {
                expr = expr.replace(name, &format!("({of})"));
            }
            anyhow::Ok(Page { alert, expr, lasting: seconds(rule)? })
        });
        Ok(Self { pages: pages.collect::<Result<_, _>>()? })
    }

    async fn paged(&self, prometheus: &Prometheus, end: i64) -> anyhow::Result<Paged> {
        let mut paged = Paged::new();
        for page in &self.pages {
            let mut times = Vec::new();
            let mut from = BEGIN;
            while from < end {
                let to = (from + POINTS * STEP).min(end);
                for series in prometheus.times(&page.expr, from, to, STEP).await? {
                    times.extend(begins(&series, page.lasting));
                }
                from = to + STEP;
            }
            times.sort_unstable();
            paged.entry(page.alert.clone()).or_default().extend(times);
        }
        Ok(paged)
    }
}

/// The times at which an expression has been true for long enough.
fn begins(times: &[i64], lasting: i64) -> Vec<i64> {
    let mut begins = Vec::new();
    let (mut since, mut last, mut is_firing) = (0, i64::MIN, false);
    for &at in times {
        if last == i64::MIN || at - last > STEP {
            (since, is_firing) = (at, false);
        }
        if !is_firing && at - since >= if lasting < STEP { 0 } else { lasting } {
            is_firing = true;
            begins.push(at);
        }
        last = at;
    }
    begins
}

/// How long the expression of a rule has to be true.
fn seconds(rule: &Rule) -> anyhow::Result<i64> {
    let Some(text) = &rule.lasting else { return Ok(0) };
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => anyhow::bail!("{text} is not a duration"),
    };
    Ok(text[..text.len() - 1].parse::<i64>()? * unit)
}

#[cfg(test)]
mod tests {
    use super::begins;

    #[test]
    fn an_alert_fires_once_it_has_lasted() {
        let times = [0, 60, 120, 180, 300, 360, 480, 540, 600];
        assert_eq!(begins(&times, 10), [0, 300, 480]);
        assert_eq!(begins(&times, 120), [120, 600]);
        assert_eq!(begins(&times, 240), Vec::<i64>::new());
        assert_eq!(begins(&[], 10), Vec::<i64>::new());
    }
}
