//! Cases that skipped themselves: a test framework counts them as passed, so their output is searched for
//! `skipped: <reason>`.

/// A case that could not run here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// The skipped cases of a JUnit report as nextest writes it.
pub(crate) fn cases(report: &str) -> Vec<Case> {
    let mut name = "";
    let mut cases = Vec::new();
    for line in report.lines() {
        // the opening tag of a case is a line of its own, its output follows in later lines
        if let Some((_, rest)) = line.split_once("<testcase name=\"") {
            name = rest.split('"').next().unwrap_or_default();
        }
        let output = line.rsplit_once("<system-err>").map_or(line, |(_, output)| output);
        if let Some(reason) = output.strip_prefix("skipped: ") {
            let reason = reason.split("</system-err>").next().unwrap_or_default();
            cases.push(Case { name: name.to_owned(), reason: unescape(reason) });
        }
    }
    cases
}

/// How the cases of the report ended, in one line, with those that skipped themselves by name. None if the report has
/// no totals.
pub(crate) fn summary(report: &str) -> Option<String> {
    let (_, totals) = report.split_once("<testsuites ")?;
    let totals = totals.split('>').next()?;
    let total = |name: &str| -> Option<usize> {
        let (_, rest) = totals.split_once(&format!("{name}=\""))?;
        rest.split('"').next()?.parse().ok()
    };
    let failed = total("failures")? + total("errors")?;
    let skipped = cases(report);
    let passed = total("tests")?.saturating_sub(failed + skipped.len());
    let names: Vec<_> = skipped.iter().map(|case| case.name.as_str()).collect();
    let list = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    Some(format!("{passed} passed, {failed} failed, {} skipped themselves{list}", skipped.len()))
}

fn unescape(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<testsuites name="nextest-run" tests="5" failures="1" errors="1" time="3.2">
    <testsuite name="atelier-operator::it" tests="5" disabled="0" errors="1" failures="1">
        <testcase name="leading::an_api_server_that_restarts" classname="atelier-operator::it" time="0.01">
            <system-err>skipped: this cluster cannot be restarted (TEST_CONTROL_CLUSTER)
</system-err>
        </testcase>"#;

    #[test]
    fn the_summary_does_not_count_skipped_cases_as_passed() {
        assert_eq!(
            summary(REPORT).unwrap(),
            "2 passed, 2 failed, 1 skipped themselves: leading::an_api_server_that_restarts"
        );
        let all = r#"<testsuites name="nextest-run" tests="725" failures="0" errors="0">"#;
        assert_eq!(summary(all).unwrap(), "725 passed, 0 failed, 0 skipped themselves");
        assert_eq!(summary("no report"), None);
    }

    #[test]
    fn cases_that_skipped_themselves_are_found() {
        let report = r#"<testsuite name="atelier-operator::it">
        <testcase name="leading::an_api_server_that_restarts" classname="atelier-operator::it" time="0.01">
            <system-out>running 1 test
</system-out>
            <system-err>skipped: this cluster cannot be restarted (TEST_CONTROL_CLUSTER)
</system-err>
        </testcase>
        <testcase name="leading::one_leads" classname="atelier-operator::it" time="1.2">
            <system-err>2026-01-01 a line
skipped: no &lt;driver&gt;</system-err>
        </testcase>
        <testcase name="plan::pure" classname="atelier-operator" time="0.1">
        </testcase>"#;
        let found = cases(report);
        assert_eq!(
            found,
            [
                Case {
                    name: "leading::an_api_server_that_restarts".into(),
                    reason: "this cluster cannot be restarted (TEST_CONTROL_CLUSTER)".into()
                },
                Case { name: "leading::one_leads".into(), reason: "no <driver>".into() }
            ]
        );
    }
}
