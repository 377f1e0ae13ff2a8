//! The slowest cases of the last test run, with their waits, and those that passed only when they were
//! repeated.

use crate::test::report::{Case, Run};

pub(super) fn print(rows: usize) -> anyhow::Result<()> {
    super::heading("cases, seconds, and the longest wait of each");
    let run = Run::last()?;
    let mut cases: Vec<_> = run.cases().collect();
    cases.sort_unstable_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    let sum: f64 = cases.iter().map(|case| case.seconds()).sum();
    let below = cases.iter().filter(|case| case.seconds() < 1.0).count();
    println!("  {sum:>8.1}  all {}, {below} of them below a second", cases.len());
    for case in cases.iter().take(rows) {
        println!("  {:>8.1}  {} {}", case.seconds(), case.binary, case.name());
        if let Some((seconds, what)) = longest_wait(*case) {
            println!("            {seconds:.1} s of it: {what}");
        }
    }
    print!("{}", xtask::pace::kept("repeated.txt"));
    Ok(())
}

/// The longest wait of a case, as `testkit::eventually` printed it.
fn longest_wait(case: Case<'_>) -> Option<(f64, &str)> {
    let waits = case.output().filter_map(|line| line.strip_prefix("waited ")?.split_once(" s: "));
    let waits = waits.filter_map(|(seconds, what)| Some((seconds.parse().ok()?, what)));
    waits.max_by(|(a, _): &(f64, _), (b, _)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_of_a_case_is_shown() {
        let run = Run::from(
            "<testsuites name=\"nextest-run\" tests=\"2\" failures=\"0\" errors=\"0\">\n<testsuite name=\"gpu::it\" \
             tests=\"2\" errors=\"0\" failures=\"0\">\n<testcase name=\"a\" classname=\"gpu::it\" time=\"2.500\">\n\
             <system-out>running 1 test\nwaited 0.6 s: it runs\nwaited 1.2 s: it stops\n</system-out>\n</testcase>\n\
             <testcase name=\"b\" classname=\"gpu::it\" time=\"0.1\"/>\n</testsuite>\n</testsuites>",
        );
        let cases: Vec<_> = run.cases().collect();
        assert_eq!(longest_wait(cases[0]), Some((1.2, "it stops")));
        assert_eq!((cases[0].seconds(), cases[1].name(), longest_wait(cases[1])), (2.5, "b", None));
    }
}
