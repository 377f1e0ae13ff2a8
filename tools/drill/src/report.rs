//! The output of a drill.

use std::{fmt, time::Duration};

use anyhow::ensure;

use super::{
    HEALING, PROMISE,
    faults::{Action, Expects, FAULTS, Fault},
    prometheus::Firing,
    users::Seen,
};

/// Alerts on objectives: they show that users are affected, and are no false pages if users saw failures.
const SYMPTOMS: [&str; 4] = ["ApiErrors", "ApiSlow", "InstanceStartsFailing", "InstanceUrlsUnreachable"];

/// An alert that fired, and how long after the beginning of the fault.
#[derive(Debug, Clone)]
pub(super) struct Woken {
    pub(super) firing: Firing,
    pub(super) after: Duration,
}

/// Whether the alert is the fault's own.
pub(super) fn is_own(fault: &Fault, firing: &Firing) -> bool {
    match fault.expects {
        Expects::Page(alert, label) => {
            firing.pages()
                && firing.alert == alert
                && label.is_none_or(|(name, value)| firing.has(name, value))
        }
        Expects::Nobody(_) => false,
    }
}

/// A line of the table.
pub(super) struct Row {
    name: &'static str,
    outcome: Outcome,
}

enum Outcome {
    NotInjected(String),
    Injected(Box<Injected>),
}

struct Injected {
    expects: Expects,
    /// Time until the own alert.
    own: Option<Duration>,
    false_pages: Vec<String>,
    symptoms: Vec<String>,
    tickets: Vec<String>,
    seen: Seen,
    violations: Vec<String>,
}

impl Row {
    pub(super) fn not_injected(fault: &'static Fault, reason: String) -> Self {
        Self { name: &fault.name, outcome: Outcome::NotInjected(reason) }
    }

    pub(super) fn new(fault: &'static Fault, fired: &[Woken], seen: &Seen, violations: Vec<String>) -> Self {
        let own = fired.iter().filter(|woken| is_own(fault, &woken.firing)).map(|woken| woken.after).min();
        let mut injected = Injected {
            expects: fault.expects,
            own,
            false_pages: Vec::new(),
            symptoms: Vec::new(),
            tickets: Vec::new(),
            seen: seen.clone(),
            violations,
        };
        for Woken { firing, after } in fired.iter().filter(|woken| !is_own(fault, &woken.firing)) {
            let of = firing.labels.iter().find(|(name, _)| name == "job");
            let of = of.map(|(_, job)| format!("({job})")).unwrap_or_default();
            let text = format!("{}{of} {} s", firing.alert, after.as_secs());
            if !firing.pages() {
                injected.tickets.push(text);
            } else if SYMPTOMS.contains(&firing.alert.as_str()) && seen.failed > 0 {
                injected.symptoms.push(text);
            } else {
                injected.false_pages.push(text);
            }
        }
        Self { name: &fault.name, outcome: Outcome::Injected(Box::new(injected)) }
    }

    fn injected(&self) -> Option<&Injected> {
        match &self.outcome {
            Outcome::Injected(injected) => Some(injected),
            Outcome::NotInjected(_) => None,
        }
    }
}

impl Injected {
    fn is_healed(&self) -> bool {
        self.violations.is_empty() && self.seen.healed().is_some_and(|took| took <= HEALING)
    }

    /// The own alert fired in time.
    fn is_named(&self) -> bool {
        self.own.is_some_and(|after| after <= PROMISE)
    }

    fn woken(&self) -> String {
        let mut text = match (self.expects, self.own) {
            (Expects::Page(alert, _), Some(after)) => format!("{alert} {:.0} s", after.as_secs_f64()),
            (Expects::Page(alert, _), None) => format!("**{alert} did not fire**"),
            (Expects::Nobody(reason), _) => format!("none expected: {reason}"),
        };
        for (what, of) in
            [("false page", &self.false_pages), ("symptom", &self.symptoms), ("ticket", &self.tickets)]
        {
            for alert in of {
                text.push_str(&format!("; {what}: {alert}"));
            }
        }
        text
    }

    fn users(&self) -> String {
        let Seen { requests, failed, failures, stall, start, .. } = &self.seen;
        let kinds: Vec<_> = failures.iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        format!(
            "{failed} of {requests} failed{kinds}; longest request {:.1} s, start {:.0} s",
            stall.as_secs_f64(),
            start.as_secs_f64()
        )
    }

    fn healed(&self) -> String {
        match self.seen.healed() {
            Some(took) if took <= HEALING => format!("{:.0} s", took.as_secs_f64()),
            Some(took) => format!("**{:.0} s**", took.as_secs_f64()),
            None => format!("**no: {:?}**", self.seen.missing()),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::NotInjected(reason) => write!(f, "| {} | not injected: {reason} | | | |", self.name),
            Outcome::Injected(row) => {
                let invariants = if row.violations.is_empty() {
                    "hold".to_owned()
                } else {
                    format!("**{}**", row.violations.join("; "))
                };
                write!(
                    f,
                    "| {} | {} | {} | {} | {invariants} |",
                    self.name,
                    row.woken(),
                    row.users(),
                    row.healed()
                )
            }
        }
    }
}

pub(super) fn heading() {
    println!("| fault | paged | what users saw | healed after | invariants |\n|---|---|---|---|---|");
}

/// All faults with their effects and the expected alerts.
pub(super) fn list() {
    for Fault { name, what, expects, action } in FAULTS.iter() {
        let expects = match (action, expects) {
            (Action::Not(reason), _) => format!("not injected: {reason}"),
            (_, Expects::Page(alert, _)) => (*alert).to_owned(),
            (_, Expects::Nobody(reason)) => format!("none expected: {reason}"),
        };
        println!("{name:<24} {what:<46} {expects}");
    }
}

/// The last lines, and an error unless everything was as it should be.
pub(super) fn summary(rows: &[Row]) -> anyhow::Result<()> {
    println!();
    heading();
    for row in rows {
        println!("{row}");
    }
    let injected: Vec<&Injected> = rows.iter().filter_map(Row::injected).collect();
    let expected = injected.iter().filter(|row| matches!(row.expects, Expects::Page(..))).count();
    let count = |is: fn(&Injected) -> bool| injected.iter().filter(|row| is(row)).count();
    let (named, healed) = (count(Injected::is_named), count(Injected::is_healed));
    let false_pages: usize = injected.iter().map(|row| row.false_pages.len()).sum();
    let violated = count(|row| !row.violations.is_empty());
    println!(
        "\n{} faults injected, {} not injected; of {expected} that have to page {named} paged within {} s; {} are tolerated \
         by design; invariants violated after {violated}\n",
        injected.len(),
        rows.len() - injected.len(),
        PROMISE.as_secs(),
        injected.len() - expected,
    );
    println!("drill: faults={} named={named} healed={healed} false_pages={false_pages}", injected.len());
    ensure!(
        named == expected && healed == injected.len() && false_pages == 0,
        "named {named} of {expected}, healed {healed} of {}, {false_pages} false pages",
        injected.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woken(alert: &str, severity: &str, job: &str, seconds: u64) -> Woken {
        let labels = vec![("job".to_owned(), job.to_owned())];
        let firing = Firing { alert: alert.to_owned(), severity: severity.to_owned(), labels };
        Woken { firing, after: Duration::from_secs(seconds) }
    }

    fn row(fired: &[Woken], seen: &Seen) -> Box<Injected> {
        let fault = FAULTS.iter().find(|fault| fault.name == "gpu-hung").unwrap();
        match Row::new(fault, fired, seen, Vec::new()).outcome {
            Outcome::Injected(row) => row,
            Outcome::NotInjected(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn a_fault_is_named_by_its_own_page_in_time() {
        let unseen = Seen::default();
        assert!(row(&[woken("ServiceUnavailable", "page", "atelier-gpu", 29)], &unseen).is_named());
        assert!(!row(&[woken("ServiceUnavailable", "page", "atelier-gpu", 31)], &unseen).is_named());
        let of_another = row(&[woken("ServiceUnavailable", "page", "atelier-stock", 5)], &unseen);
        assert!(!of_another.is_named());
        assert_eq!(of_another.false_pages, ["ServiceUnavailable(atelier-stock) 5 s"]);
    }

    #[test]
    fn an_alert_on_an_objective_is_no_false_page_if_users_saw_failures() {
        let fired =
            [woken("ApiErrors", "page", "atelier-gateway", 20), woken("WorkerFailing", "ticket", "j", 20)];
        let unseen = row(&fired, &Seen::default());
        assert_eq!((unseen.false_pages.len(), unseen.symptoms.len(), unseen.tickets.len()), (1, 0, 1));
        let seen = row(&fired, &Seen { requests: 9, failed: 1, ..Seen::default() });
        assert_eq!((seen.false_pages.len(), seen.symptoms.len(), seen.tickets.len()), (0, 1, 1));
    }
}
