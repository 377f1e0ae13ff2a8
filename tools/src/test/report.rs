//! The report of a run, as nextest writes it: .config/nextest.toml.

use quick_junit::{Report, TestCase, TestCaseStatus};

/// The last run of the tests. Empty if there was none.
pub(crate) struct Run(Report);

/// A case of it.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The test binary, for example `atelier-stock::it`.
    pub(crate) binary: &'a str,
    case: &'a TestCase,
}

impl Run {
    pub(crate) fn last() -> anyhow::Result<Self> {
        match std::fs::read_to_string(xtask::target().join("nextest/default/junit.xml")) {
            Ok(text) => Ok(Self(Report::deserialize_from_str(&text)?)),
            Err(_) => Ok(Self(Report::new(""))),
        }
    }

    /// So that no older run is taken for the next one.
    pub(crate) fn forget() {
        let _ = std::fs::remove_file(xtask::target().join("nextest/default/junit.xml"));
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.0
            .test_suites
            .iter()
            .flat_map(|suite| suite.test_cases.iter().map(|case| Case { binary: &suite.name, case }))
    }

    pub(crate) fn failed(&self) -> Vec<Case<'_>> {
        self.cases().filter(Case::has_failed).collect()
    }

    /// How the cases ended, in one line, with those that skipped themselves by name. nextest counts these as passed.
    pub(super) fn summary(&self) -> String {
        let skipped: Vec<_> = self.cases().filter(|case| case.skipped().is_some()).map(Case::name).collect();
        let failed = self.failed().len();
        let passed = self.cases().count() - failed - skipped.len();
        let list = if skipped.is_empty() { String::new() } else { format!(": {}", skipped.join(", ")) };
        format!("{passed} passed, {failed} failed, {} skipped themselves{list}", skipped.len())
    }
}

impl<'a> Case<'a> {
    pub(crate) fn name(self) -> &'a str {
        &self.case.name
    }

    pub(crate) fn seconds(self) -> f64 {
        self.case.time.unwrap_or_default().as_secs_f64()
    }

    fn has_failed(&self) -> bool {
        matches!(self.case.status, TestCaseStatus::NonSuccess { .. })
    }

    /// What it printed, line by line.
    pub(crate) fn output(self) -> impl Iterator<Item = &'a str> {
        [&self.case.system_out, &self.case.system_err].into_iter().flatten().flat_map(|text| text.lines())
    }

    /// Why it skipped itself: it printed `skipped: <reason>`.
    pub(super) fn skipped(self) -> Option<&'a str> {
        self.output().find_map(|line| line.strip_prefix("skipped: "))
    }
}

#[cfg(test)]
impl From<&str> for Run {
    fn from(text: &str) -> Self {
        Self(Report::deserialize_from_str(text).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<testsuites name="nextest-run" tests="4" failures="1" errors="0" time="3.2">
    <testsuite name="atelier-operator::it" tests="3" errors="0" failures="1">
        <testcase name="leading::an_api_server_that_restarts" classname="atelier-operator::it" time="0.01">
            <system-out>
running 1 test
</system-out>
            <system-err>skipped: this cluster cannot be restarted (TEST_CONTROL_CLUSTER)
</system-err>
        </testcase>
        <testcase name="leading::one_leads" classname="atelier-operator::it" time="1.2">
            <system-err>2026-01-01 a line
skipped: no &lt;driver&gt;</system-err>
        </testcase>
        <testcase name="leading::none_leads" classname="atelier-operator::it" time="2">
            <failure message="two lead" type="test failure with exit code 101">two lead</failure>
        </testcase>
    </testsuite>
    <testsuite name="atelier-operator" tests="1" errors="0" failures="0">
        <testcase name="plan::pure" classname="atelier-operator" time="0.1">
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn the_summary_does_not_count_skipped_cases_as_passed() {
        assert_eq!(
            Run::from(REPORT).summary(),
            "1 passed, 1 failed, 2 skipped themselves: leading::an_api_server_that_restarts, leading::one_leads"
        );
    }

    #[test]
    fn cases_that_skipped_themselves_are_found() {
        let run = Run::from(REPORT);
        let found: Vec<_> = run.cases().map(Case::skipped).collect();
        assert_eq!(
            found,
            [
                Some("this cluster cannot be restarted (TEST_CONTROL_CLUSTER)"),
                Some("no <driver>"),
                None,
                None
            ]
        );
    }
}
