//! The slowest cases of the last test run, with what they waited for.

/// A case of the report.
#[derive(Debug, PartialEq)]
struct Case<'a> {
    name: &'a str,
    suite: &'a str,
    seconds: f64,
    /// Its longest wait, as `testkit::eventually` printed it.
    longest_wait: Option<(f64, &'a str)>,
}

pub(super) fn print(rows: usize) -> anyhow::Result<()> {
    super::heading("cases, seconds, and the longest wait of each");
    let report = xtask::target().join("nextest/default/junit.xml");
    let report = std::fs::read_to_string(report).unwrap_or_default();
    let mut cases = cases(&report);
    cases.sort_unstable_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let sum = |cases: &[Case<'_>]| cases.iter().map(|case| case.seconds).sum::<f64>();
    let below = cases.iter().filter(|case| case.seconds < 1.0).count();
    println!("  {:>8.1}  all {}, {below} of them below a second", sum(&cases), cases.len());
    for case in cases.iter().take(rows) {
        println!("  {:>8.1}  {} {}", case.seconds, case.suite, case.name);
        if let Some((seconds, what)) = case.longest_wait {
            println!("            {seconds:.1} s of it: {what}");
        }
    }
    Ok(())
}

/// The cases of a JUnit report as nextest writes it: an opening tag is a line of its own.
fn cases(report: &str) -> Vec<Case<'_>> {
    let mut cases = Vec::<Case<'_>>::new();
    for line in report.lines() {
        if line.trim_start().starts_with("<testcase ") {
            let attribute = |name: &str| {
                let (_, rest) = line.split_once(&format!(" {name}=\""))?;
                rest.split('"').next()
            };
            let (Some(name), Some(suite)) = (attribute("name"), attribute("classname")) else { continue };
            let seconds = attribute("time").and_then(|time| time.parse().ok()).unwrap_or_default();
            cases.push(Case { name, suite, seconds, longest_wait: None });
        }
        let output = line.rsplit_once("<system-out>").map_or(line, |(_, output)| output);
        let wait = output.strip_prefix("waited ").and_then(|rest| rest.split_once(" s: "));
        if let (Some(case), Some((seconds, what))) = (cases.last_mut(), wait)
            && let Ok(seconds) = seconds.parse()
            && case.longest_wait.is_none_or(|(longest, _)| seconds > longest)
        {
            case.longest_wait = Some((seconds, what));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_of_a_case_is_shown() {
        let report = "<testsuite name=\"gpu::it\">\n    <testcase name=\"a\" classname=\"gpu::it\" timestamp=\"x\" \
                      time=\"2.500\">\n<system-out>running 1 test\nwaited 0.6 s: it runs\nwaited 1.2 s: it stops\n\
                      </system-out>\n</testcase>\n<testcase name=\"b\" classname=\"gpu::it\" time=\"0.1\"/>\n";
        let cases = cases(report);
        assert_eq!(cases[0].longest_wait, Some((1.2, "it stops")));
        assert_eq!((cases[0].seconds, cases[1].name, cases[1].longest_wait), (2.5, "b", None));
    }
}
