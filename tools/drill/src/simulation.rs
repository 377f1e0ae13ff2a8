//! The metrics of a simulated platform, minute by minute, from a seeded generator: a daily curve, noise, deployments and
//! nodes that are rebooted, as in a healthy month; and troubles, each of which has to page.

use std::{collections::BTreeMap, fmt::Write as _};

use rand::{RngExt as _, SeedableRng, rngs::StdRng};

/// Seconds between two samples.
pub(super) const STEP: i64 = 60;
const DAY: i64 = 86_400;

const REPLICAS: [&str; 2] = ["a", "b"];
const CLUSTER: &str = "uk-1";

/// All programs, each with two replicas.
fn services() -> impl Iterator<Item = &'static str> {
    platform::services().iter().map(|service| service.name.as_str())
}

/// A trouble that is not part of a healthy month: the alert that has to page, and how many minutes it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trouble {
    pub(super) alert: &'static str,
    pub(super) minutes: i64,
}

/// One for each alert that pages.
pub(super) const TROUBLES: [Trouble; 19] = [
    Trouble { alert: "ApiErrors", minutes: 20 },
    Trouble { alert: "ApiSlow", minutes: 30 },
    Trouble { alert: "AuditLogBroken", minutes: 5 },
    Trouble { alert: "CertificateExpires", minutes: 5 },
    Trouble { alert: "ClockWrong", minutes: 3 },
    Trouble { alert: "ClusterSilent", minutes: 3 },
    Trouble { alert: "ClusterWatchDisconnected", minutes: 6 },
    Trouble { alert: "InstanceStartsFailing", minutes: 60 },
    Trouble { alert: "InstanceUrlsUnreachable", minutes: 30 },
    Trouble { alert: "JobMessagesDelayed", minutes: 5 },
    Trouble { alert: "JobsNotScheduled", minutes: 3 },
    Trouble { alert: "ObjectStoreFailing", minutes: 30 },
    Trouble { alert: "ObjectStoreUnreachable", minutes: 3 },
    Trouble { alert: "OperatorNoLeader", minutes: 3 },
    Trouble { alert: "PostgresPoolExhausted", minutes: 3 },
    Trouble { alert: "PostgresUnavailable", minutes: 3 },
    Trouble { alert: "QueueNotServed", minutes: 4 },
    Trouble { alert: "ReconcilesStuck", minutes: 6 },
    // series that end without a marker are found for 5 minutes more
    Trouble { alert: "ServiceUnavailable", minutes: 8 },
];

/// How much happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traffic {
    /// Requests to the API per second, at noon.
    pub(super) requests: f64,
    /// Requests to instances per second, at noon.
    pub(super) pages: f64,
    /// Starts per minute, at noon.
    pub(super) starts: f64,
}

/// The events of a minute in addition to the traffic.
#[derive(Debug, Default)]
struct Minute {
    /// Index of the replica of each service that restarts.
    restarting: BTreeMap<&'static str, usize>,
    is_slow: bool,
    node_is_down: bool,
    trouble: Option<&'static str>,
}

pub(super) struct Simulation {
    random: StdRng,
    traffic: Traffic,
    counters: BTreeMap<String, f64>,
    /// Troubles with the times at which they begin.
    troubles: Vec<(i64, Trouble)>,
    /// Only the series for the objectives, without a daily curve: the past of a drill.
    objectives_only: bool,
    node_down_until: i64,
    text: String,
}

impl Simulation {
    pub(super) fn new(seed: u64, traffic: Traffic) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            traffic,
            counters: BTreeMap::new(),
            troubles: Vec::new(),
            objectives_only: false,
            node_down_until: 0,
            text: String::new(),
        }
    }

    /// The past of a drill: steady, and only with the series for the objectives.
    pub(super) fn of_the_past(seed: u64, traffic: Traffic) -> Self {
        Self { objectives_only: true, ..Self::new(seed, traffic) }
    }

    /// With troubles, each beginning at a time.
    pub(super) fn with_troubles(mut self, troubles: Vec<(i64, Trouble)>) -> Self {
        self.troubles = troubles;
        self
    }

    /// The samples of the minutes from `from` (inclusive) to `to` (exclusive), in seconds since 1970, in OpenMetrics
    /// text format.
    pub(super) fn samples(&mut self, from: i64, to: i64) -> String {
        self.text.clear();
        let mut at = from;
        while at < to {
            self.minute(at);
            at += STEP;
        }
        self.text.push_str("# EOF\n");
        std::mem::take(&mut self.text)
    }

    fn minute(&mut self, at: i64) {
        let minute = self.happens(at);
        for (service, replica) in &minute.restarting {
            let instance = format!("job=\"atelier-{service}\",instance=\"{}\"", REPLICAS[*replica]);
            self.counters.retain(|series, _| !series.contains(&instance));
        }
        let share = if self.objectives_only { 1.0 } else { curve(at) };
        self.api(at, share, &minute);
        self.instances(at, share, &minute);
        if !self.objectives_only {
            self.replicas(at, &minute);
            self.platform(at, &minute);
        }
    }

    fn happens(&mut self, at: i64) -> Minute {
        let trouble =
            self.troubles.iter().find(|(from, trouble)| (*from..*from + trouble.minutes * 60).contains(&at));
        let mut minute = Minute { trouble: trouble.map(|(_, trouble)| trouble.alert), ..Minute::default() };
        if self.objectives_only {
            return minute;
        }
        // three deployments a week: each service, one replica after the other
        let (day, of_day) = (at / DAY, at % DAY / 60);
        if [0, 2, 4].contains(&(day % 7)) {
            for (n, service) in services().enumerate() {
                let begins = 600 + 6 * i64::try_from(n).unwrap_or_default();
                for replica in [0, 1] {
                    let restarts = begins + 3 * i64::try_from(replica).unwrap_or_default();
                    if of_day == restarts {
                        minute.restarting.insert(service, replica);
                    }
                }
            }
        }
        minute.is_slow = self.random.random_bool(0.3 / 1440.0);
        if self.random.random_bool(1.0 / (3.0 * 1440.0)) {
            self.node_down_until = at + 5 * 60;
        }
        minute.node_is_down = at < self.node_down_until;
        minute
    }

    /// Requests at the gateway: 0.002 % fail.
    fn api(&mut self, at: i64, share: f64, minute: &Minute) {
        let requests = self.traffic.requests * share * 60.0;
        for replica in self.live_replicas("gateway", minute) {
            let all = self.about(requests / 2.0);
            let mut bad = if minute.trouble == Some("ApiErrors") { 0.3 } else { 0.000_02 };
            if minute.restarting.contains_key("gpu") {
                // a request or two meets a connection that closes
                bad += 0.0005;
            }
            let failed = self.part(all, bad);
            let slowness = if minute.is_slow { 0.3 } else { 0.001 };
            let late = if minute.trouble == Some("ApiSlow") { 0.6 } else { slowness };
            let slow = self.part(all - failed, late);
            let name = "http_server_request_duration_seconds";
            for (status, count, fast) in [("200", all - failed, all - failed - slow), ("503", failed, failed)]
            {
                let labels = format!(
                    "job=\"atelier-gateway\",instance=\"{replica}\",method=\"GET\",route=\"/v1/instances\",status=\"{status}\""
                );
                self.count(at, format!("{name}_count{{{labels}}}"), count);
                self.count(at, format!("{name}_bucket{{{labels},le=\"0.1\"}}"), fast);
                self.count(at, format!("{name}_bucket{{{labels},le=\"+Inf\"}}"), count);
            }
            for (outcome, count) in [("answered", all - failed), ("failed", failed)] {
                let labels = format!(
                    "job=\"atelier-gateway\",instance=\"{replica}\",upstream=\"gpu\",method=\"GET\",route=\"/v1/instances\",outcome=\"{outcome}\""
                );
                self.count(at, format!("gateway_api_requests_total{{{labels}}}"), count);
            }
        }
    }

    /// Starts of instances, and requests to them.
    fn instances(&mut self, at: i64, share: f64, minute: &Minute) {
        for replica in self.live_replicas("gpu", minute) {
            let all = self.about(self.traffic.starts * share / 2.0);
            let bad = if minute.trouble == Some("InstanceStartsFailing") { 0.6 } else { 0.0005 };
            let late = self.part(all, bad + if minute.node_is_down { 0.02 } else { 0.0 });
            for (outcome, count) in
                [("in_time", all - late), ("late", late), ("failed", 0.0), ("rejected", 0.0)]
            {
                let labels = format!("job=\"atelier-gpu\",instance=\"{replica}\",outcome=\"{outcome}\"");
                self.count(at, format!("instance_starts_total{{{labels}}}"), count);
            }
        }
        for replica in self.live_replicas("gateway", minute) {
            let all = self.about(self.traffic.pages * share * 30.0);
            let bad = if minute.trouble == Some("InstanceUrlsUnreachable") { 0.3 } else { 0.0002 };
            // one node of a hundred
            let lost = self.part(all, bad + if minute.node_is_down { 0.01 } else { 0.0 });
            for (outcome, count) in [
                ("answered", all - lost),
                ("not_responding", lost),
                ("unresolved", 0.0),
                ("not_running", 0.0),
            ] {
                let labels = format!("job=\"atelier-gateway\",instance=\"{replica}\",outcome=\"{outcome}\"");
                self.count(at, format!("gateway_instance_requests_total{{{labels}}}"), count);
            }
        }
    }

    /// Health of all replicas, workers, queues and pools.
    fn replicas(&mut self, at: i64, minute: &Minute) {
        let postgres_is_away = minute.trouble == Some("PostgresUnavailable");
        let is_away = |service| minute.trouble == Some("ServiceUnavailable") && service == "storage";
        for service in services() {
            for (n, replica) in REPLICAS.iter().enumerate() {
                let labels = format!("job=\"atelier-{service}\",instance=\"{replica}\"");
                // a scrape may fail
                let is_seen = minute.restarting.get(service) != Some(&n)
                    && !is_away(service)
                    && !self.random.random_bool(0.000_02);
                self.gauge(at, format!("up{{{labels}}}"), f64::from(u8::from(is_seen)));
                if !is_seen {
                    continue;
                }
                let stateful = platform::service(service).is_some_and(|service| service.schema);
                let is_ready = !(postgres_is_away && stateful);
                self.gauge(at, format!("service_ready{{{labels}}}"), f64::from(u8::from(is_ready)));
                let off = if minute.trouble == Some("ClockWrong") && service == "gpu" { 120.0 } else { 0.0 };
                #[expect(clippy::cast_precision_loss, reason = "a time")]
                let clock = at as f64 + off + self.random.random_range(-0.2..0.2);
                self.gauge(at, format!("service_clock_seconds{{{labels}}}"), clock);
                if stateful {
                    self.stateful(at, &labels, service, minute);
                }
            }
        }
    }

    fn stateful(&mut self, at: i64, labels: &str, service: &str, minute: &Minute) {
        let away = minute.trouble == Some("PostgresUnavailable");
        self.gauge(at, format!("db_client_answers{{{labels}}}"), f64::from(u8::from(!away)));
        let exhausted = minute.trouble == Some("PostgresPoolExhausted") && service == "gpu";
        let used = if exhausted { 10.0 } else { self.random.random_range(0.0_f64..6.0).floor() };
        let pool = format!("{labels},pool=\"app\"");
        self.gauge(at, format!("db_client_connection_count{{{pool},state=\"used\"}}"), used);
        self.gauge(at, format!("db_client_connection_count{{{pool},state=\"idle\"}}"), (8.0 - used).max(0.0));
        self.gauge(at, format!("db_client_connection_max{{{pool}}}"), 10.0);
        // a transaction may find no connection now and then while some are being opened
        let timeouts = if exhausted || self.random.random_bool(0.0001) { 1.0 } else { 0.0 };
        self.count(at, format!("db_client_connection_timeouts_total{{{pool}}}"), timeouts);
        let busy = self.random.random_bool(0.001);
        let mut due = self.random.random_range(0.0..2.0) + if busy { 40.0 } else { 0.0 };
        if minute.trouble == Some("ReconcilesStuck") && service == "gpu" {
            due = 300.0;
        }
        self.gauge(at, format!("queue_oldest_due_seconds{{{labels},queue=\"rows\"}}"), due);
        let broken = if minute.trouble == Some("AuditLogBroken") { 1.0 } else { 0.0 };
        self.gauge(at, format!("audit_broken_entries{{{labels}}}"), broken);
    }

    /// Clusters, operators, object store, certificate.
    fn platform(&mut self, at: i64, minute: &Minute) {
        let trouble = |alert: &str| minute.trouble == Some(alert);
        let bit = |value: bool| f64::from(u8::from(value));
        for replica in self.live_replicas("stock", minute) {
            let labels = format!("job=\"atelier-stock\",instance=\"{replica}\"");
            // one replica may miss an answer
            let fails = trouble("ClusterSilent") || replica == "a" && self.random.random_bool(0.0005);
            self.gauge(at, format!("stock_cluster_answers{{{labels},cluster=\"{CLUSTER}\"}}"), bit(!fails));
            let unserved = trouble("QueueNotServed") || self.random.random_bool(0.002);
            self.gauge(at, format!("stock_unserved_queues{{{labels}}}"), bit(unserved));
        }
        for replica in self.live_replicas("gpu", minute) {
            let labels = format!("job=\"atelier-gpu\",instance=\"{replica}\",cluster=\"{CLUSTER}\"");
            let broken = trouble("ClusterWatchDisconnected")
                || trouble("ClusterSilent")
                || replica == "b" && self.random.random_bool(0.002);
            self.gauge(at, format!("cluster_watch_connected{{{labels}}}"), bit(!broken));
        }
        let live = self.live_replicas("operator", minute);
        for replica in &live {
            let leads = live.first() == Some(replica) && !trouble("OperatorNoLeader");
            let labels = format!("job=\"atelier-operator\",instance=\"{replica}\",cluster=\"{CLUSTER}\"");
            self.gauge(at, format!("operator_leader{{{labels}}}"), bit(leads));
        }
        let live = self.live_replicas("jobs", minute);
        for replica in &live {
            let labels = format!("job=\"atelier-jobs\",instance=\"{replica}\"");
            self.gauge(at, format!("jobs_pools{{{labels}}}"), 1.0);
            let leads = live.first() == Some(replica) && !trouble("JobsNotScheduled");
            self.gauge(at, format!("jobs_pools_led{{{labels}}}"), bit(leads));
            // a broker that starts again is away for a moment
            let restarts = self.random.random_bool(0.001);
            let age = if trouble("JobMessagesDelayed") { 300.0 } else { 40.0 * bit(restarts) };
            self.gauge(at, format!("jobs_mq_outbox_age_seconds{{{labels}}}"), age);
        }
        for replica in self.live_replicas("storage", minute) {
            let labels = format!("job=\"atelier-storage\",instance=\"{replica}\"");
            let fails = trouble("ObjectStoreUnreachable") || replica == "a" && self.random.random_bool(0.001);
            self.gauge(at, format!("storage_object_store_answers{{{labels}}}"), bit(!fails));
            let refuses = trouble("ObjectStoreFailing");
            let changed = if refuses { 0.0 } else { self.about(2.0) };
            let failed = if refuses { 3.0 } else { self.part(changed, 0.01) };
            for (result, count) in [("changed", changed), ("failed", failed)] {
                let labels = format!("{labels},kind=\"bucket\",result=\"{result}\"");
                self.count(at, format!("storage_reconciles_total{{{labels}}}"), count);
            }
        }
        for replica in self.live_replicas("gateway", minute) {
            // renewed when a third of 90 days is left
            let left = if trouble("CertificateExpires") { DAY } else { 90 * DAY - at % (60 * DAY) };
            let labels = format!("job=\"atelier-gateway\",instance=\"{replica}\",file=\"/tls/tls.crt\"");
            #[expect(clippy::cast_precision_loss, reason = "a time")]
            self.gauge(
                at,
                format!("tls_certificate_expiry_timestamp_seconds{{{labels}}}"),
                (at + left) as f64,
            );
        }
    }

    fn live_replicas(&self, service: &'static str, minute: &Minute) -> Vec<&'static str> {
        if self.objectives_only {
            return vec!["past"];
        }
        let restarting = minute.restarting.get(service).copied();
        REPLICAS.iter().enumerate().filter(|(n, _)| Some(*n) != restarting).map(|(_, name)| *name).collect()
    }

    fn count(&mut self, at: i64, series: String, increment: f64) {
        let value = self.counters.get(&series).copied().unwrap_or_default() + increment;
        // writing to a String cannot fail
        let _ = writeln!(self.text, "{series} {value} {at}");
        self.counters.insert(series, value);
    }

    fn gauge(&mut self, at: i64, series: impl AsRef<str>, value: f64) {
        // writing to a String cannot fail
        let _ = writeln!(self.text, "{} {value} {at}", series.as_ref());
    }

    /// A number of events around this mean, as a Poisson process has them.
    fn about(&mut self, mean: f64) -> f64 {
        if mean > 50.0 {
            // three uniform numbers are close enough to a normal one
            let spread: f64 = (0..3).map(|_| self.random.random_range(-1.0..1.0)).sum();
            return (mean + spread * mean.sqrt()).round().max(0.0);
        }
        let (limit, mut count, mut product) = ((-mean).exp(), 0.0, 1.0);
        loop {
            product *= self.random.random_range(0.0..1.0_f64);
            if product <= limit {
                return count;
            }
            count += 1.0;
        }
    }

    /// Returns how many of `all` events have a property of this probability.
    fn part(&mut self, all: f64, probability: f64) -> f64 {
        self.about(all * probability).min(all)
    }
}

/// The part of the traffic at noon that there is at a time: little at night, less on weekends.
fn curve(at: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a time of day")]
    let of_day = (at % DAY) as f64 / DAY as f64;
    let day = 0.2 + 0.8 * (0.5 - 0.5 * (of_day * std::f64::consts::TAU).cos());
    if at / DAY % 7 >= 5 { day * 0.5 } else { day }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAFFIC: Traffic = Traffic { requests: 20.0, pages: 10.0, starts: 2.0 };

    #[test]
    fn a_seed_has_one_month() {
        let samples = |seed| Simulation::new(seed, TRAFFIC).samples(0, 3600);
        assert_eq!(samples(1), samples(1));
        assert_ne!(samples(1), samples(2));
        assert!(samples(1).ends_with("# EOF\n"));
    }

    #[test]
    fn counters_of_a_replica_that_restarts_begin_again() {
        // the first deployment: the gateway's first replica at 10:00
        let text = Simulation::new(1, TRAFFIC).samples(9 * 3600, 11 * 3600);
        let series = r#"http_server_request_duration_seconds_count{job="atelier-gateway",instance="a",method="GET",route="/v1/instances",status="200"}"#;
        let values: Vec<f64> = text
            .lines()
            .filter_map(|line| line.strip_prefix(series)?.split_whitespace().next()?.parse().ok())
            .collect();
        let resets = values.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!((values.len(), resets), (119, 1));
    }
}
