//! PromQL for the metrics of pods. Values are always escaped, label names are checked when the configuration is read.

use std::fmt::Write;

use crds::names::CONTAINER;
use gpu_core::unit::PodRef;

use super::config::PrometheusConfig;
use super::model::Metric;

/// Bytes of a mebibyte, the unit of DCGM's memory metrics.
pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// The exporter of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exporter {
    /// A series per GPU, with the pod that has it.
    Dcgm,
    /// A series per container.
    Container,
    /// A series per pod and network interface.
    Pod,
}

/// How a metric is queried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Source {
    pub(super) exporter: Exporter,
    name: &'static str,
    /// The function over a range of time.
    function: &'static str,
    /// Factor from its unit to ours.
    pub(super) factor: f64,
}

impl Source {
    pub(super) fn of(metric: Metric) -> Self {
        use Exporter::{Container, Dcgm, Pod};
        let (exporter, name, function, factor) = match metric {
            Metric::GpuUtilization => (Dcgm, "DCGM_FI_DEV_GPU_UTIL", "avg_over_time", 1.0),
            Metric::GpuMemoryUsed => (Dcgm, "DCGM_FI_DEV_FB_USED", "avg_over_time", MIB),
            Metric::GpuMemoryFree => (Dcgm, "DCGM_FI_DEV_FB_FREE", "avg_over_time", MIB),
            Metric::GpuTemperature => (Dcgm, "DCGM_FI_DEV_GPU_TEMP", "avg_over_time", 1.0),
            Metric::GpuPower => (Dcgm, "DCGM_FI_DEV_POWER_USAGE", "avg_over_time", 1.0),
            Metric::GpuXidError => (Dcgm, "DCGM_FI_DEV_XID_ERRORS", "max_over_time", 1.0),
            Metric::CpuUsage => (Container, "container_cpu_usage_seconds_total", "rate", 1.0),
            Metric::MemoryUsed => (Container, "container_memory_working_set_bytes", "avg_over_time", 1.0),
            Metric::DiskUsed => (Container, "container_fs_usage_bytes", "avg_over_time", 1.0),
            Metric::DiskRead => (Container, "container_fs_reads_bytes_total", "rate", 1.0),
            Metric::DiskWritten => (Container, "container_fs_writes_bytes_total", "rate", 1.0),
            Metric::NetworkReceived => (Pod, "container_network_receive_bytes_total", "rate", 1.0),
            Metric::NetworkSent => (Pod, "container_network_transmit_bytes_total", "rate", 1.0),
        };
        Self { exporter, name, function, factor }
    }

    /// Seconds of data behind each value that is asked for every `resolution` seconds: enough for two scrapes, and for a
    /// rate for one that failed.
    pub(super) fn range(&self, resolution: i64, scrape_interval: i64) -> i64 {
        resolution.max(scrape_interval * if self.function == "rate" { 4 } else { 2 })
    }

    /// Names of the labels with the namespace and the name of the pod.
    pub(super) fn pod_labels<'a>(&self, config: &'a PrometheusConfig) -> (&'a str, &'a str) {
        match self.exporter {
            Exporter::Dcgm => (&config.gpu_namespace_label, &config.gpu_pod_label),
            Exporter::Container | Exporter::Pod => ("namespace", "pod"),
        }
    }
}

/// Returns the query of a metric for some pods, with one series for each pod (and GPU).
pub(super) fn query(metric: Metric, pods: &[PodRef], range: i64, config: &PrometheusConfig) -> String {
    let source = Source::of(metric);
    let (namespace_label, pod_label) = source.pod_labels(config);
    let Source { name, function, .. } = source;
    let mut selector = String::new();
    for (label, value) in &config.matchers {
        let _ = write!(selector, "{label}={},", quoted(value));
    }
    let namespaces = alternatives(pods.iter().map(PodRef::namespace));
    let names = alternatives(pods.iter().map(PodRef::name));
    let _ = write!(selector, "{namespace_label}=~{},{pod_label}=~{}", quoted(&namespaces), quoted(&names));
    let (aggregate, by) = match source.exporter {
        // a GPU that two exporters report is one GPU
        Exporter::Dcgm => ("max", format!("{namespace_label},{pod_label},{}", config.gpu_label)),
        Exporter::Container => {
            let _ = write!(selector, ",container={}", quoted(CONTAINER));
            ("sum", format!("{namespace_label},{pod_label}"))
        }
        Exporter::Pod => ("sum", format!("{namespace_label},{pod_label}")),
    };
    format!("{aggregate} by ({by}) ({function}({name}{{{selector}}}[{range}s]))")
}

/// A regular expression that matches exactly these texts.
fn alternatives<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut unique: Vec<&str> = texts.collect();
    unique.sort_unstable();
    unique.dedup();
    let escaped = unique.into_iter().map(|text| {
        let mut escaped = String::new();
        for character in text.chars() {
            if character.is_ascii_punctuation() && !matches!(character, '-' | '_') || character == ' ' {
                escaped.push('\\');
            }
            escaped.push(character);
        }
        escaped
    });
    escaped.collect::<Vec<_>>().join("|")
}

/// A string literal.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether PromQL accepts it as the name of a label.
pub(super) fn is_label(text: &str) -> bool {
    let mut characters = text.chars();
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    characters.next().is_some_and(is_first) && characters.all(|c| is_first(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> PrometheusConfig {
        serde_json::from_value(serde_json::json!({ "url": "http://prometheus:9090" })).unwrap()
    }

    #[test]
    fn a_query_names_the_pods_and_nothing_else() {
        let pods = [PodRef::new("ten-1", "b-2"), PodRef::new("ten-1", "a-1"), PodRef::new("ten-1", "a-1")];
        assert_eq!(
            query(Metric::CpuUsage, &pods, 60, &config()),
            "sum by (namespace,pod) (rate(container_cpu_usage_seconds_total{namespace=~\"ten-1\",\
             pod=~\"a-1|b-2\",container=\"main\"}[60s]))"
        );
        let mut config = config();
        config.gpu_pod_label = "pod".to_owned();
        config.matchers.insert("cluster".to_owned(), "a\"b".to_owned());
        assert_eq!(
            query(Metric::GpuUtilization, &pods[..1], 30, &config),
            "max by (exported_namespace,pod,gpu) (avg_over_time(DCGM_FI_DEV_GPU_UTIL{cluster=\"a\\\"b\",\
             exported_namespace=~\"ten-1\",pod=~\"b-2\"}[30s]))"
        );
    }

    #[test]
    fn text_cannot_leave_its_literal() {
        let pods = [PodRef::new("a.b", "x\"} or up{a=~\".*\\")];
        let text = query(Metric::MemoryUsed, &pods, 30, &config());
        assert!(text.contains("namespace=~\"a\\\\.b\""), "{text}");
        assert!(
            text.contains("pod=~\"x\\\\\\\"\\\\}\\\\ or\\\\ up\\\\{a\\\\=\\\\~\\\\\\\"\\\\.\\\\*\\\\\\\\\""),
            "{text}"
        );
        assert_eq!(quoted("a\nb\u{7}"), "\"a\\nb\\u0007\"");
    }

    #[test]
    fn labels_are_names() {
        assert!(is_label("exported_pod") && is_label("_9"));
        assert!(["", "9a", "a-b", "a\"", "a b", "ä"].into_iter().all(|text| !is_label(text)));
    }
}
