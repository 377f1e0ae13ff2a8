//! Cases that failed while all others ran are repeated alone. One that passes each time then was late on a busy machine, or needs
//! luck: it is named by this command and by `cargo xtask pace`, and is to be mended, but a change that has nothing to do with
//! it is not held up.

use super::report::Case;

/// More failures than these are no coincidence.
const MOST: usize = 2;
/// Repetitions of each. What fails one time in four passes all of them one time in eighteen.
const TIMES: u32 = 10;

/// Arguments of nextest that repeat these cases. None if they are not repeated: a property test that found a counterexample may
/// not find it again.
pub(super) fn arguments(failed: &[Case<'_>]) -> Option<Vec<String>> {
    let has_counterexample =
        |case: &Case<'_>| case.output().any(|line| line.starts_with("minimal failing input"));
    if failed.is_empty() || failed.len() > MOST || failed.iter().any(has_counterexample) {
        return None;
    }
    let filter = |case: &Case<'_>| format!("(binary_id(={}) & test(={}))", case.binary, case.name());
    let filters: Vec<_> = failed.iter().map(filter).collect();
    let arguments = ["--profile", "repeat", "--test-threads", "1", "--stress-count"];
    let mut arguments: Vec<_> = arguments.map(str::to_owned).into();
    arguments.extend([TIMES.to_string(), "--filterset".to_owned(), filters.join(" | ")]);
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::{super::report::Run, *};

    fn run(cases: &[(&str, &str)]) -> Run {
        let case = |(name, output): &(&str, &str)| {
            format!(
                r#"<testcase name="{name}" classname="atelier-stock::it" time="2"><failure type="failed"/>
                <system-err>thread 'a' panicked at b.rs:1:5:
{output}
</system-err></testcase>"#
            )
        };
        let cases: String = cases.iter().map(case).collect();
        let report = format!(
            r#"<testsuites name="nextest-run" tests="1" failures="1" errors="0"><testsuite name="atelier-stock::it" tests="1"
            errors="0" failures="1">{cases}</testsuite></testsuites>"#
        );
        Run::from(report.as_str())
    }

    #[test]
    fn failed_cases_are_repeated_by_name() {
        let run = run(&[("units::late", "timed out after 30 s: it ends"), ("units::other", "")]);
        let arguments = arguments(&run.failed()).unwrap();
        assert_eq!(
            arguments.last().unwrap(),
            "(binary_id(=atelier-stock::it) & test(=units::late)) | (binary_id(=atelier-stock::it) & test(=units::other))"
        );
    }

    #[test]
    fn many_failures_and_counterexamples_are_not_repeated() {
        assert_eq!(arguments(&run(&[("a", ""), ("b", ""), ("c", "")]).failed()), None);
        assert_eq!(arguments(&run(&[("a", "minimal failing input: n = 1")]).failed()), None);
        assert_eq!(arguments(&run(&[]).failed()), None);
    }
}
