//! The section `[telemetry]` of each service's configuration.

use serde::Deserialize;
use url::Url;

/// Where spans and log lines are exported to. Without this section, no spans are recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetryConfig {
    /// OTLP over gRPC, `http://host:4317` or `https://…`.
    pub endpoint: Url,
    /// Fraction of the traces that begin here and are recorded, from 0 to 1 (default 0.01). A request from another
    /// service of the platform is recorded if its caller has recorded it.
    #[serde(default = "default_sample_ratio")]
    pub sample_ratio: f64,
}

fn default_sample_ratio() -> f64 {
    0.01
}

impl TelemetryConfig {
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let ratio = self.sample_ratio;
        anyhow::ensure!((0.0..=1.0).contains(&ratio), "telemetry.sample_ratio is {ratio}, not from 0 to 1");
        let scheme = self.endpoint.scheme();
        anyhow::ensure!(
            matches!(scheme, "http" | "https"),
            "telemetry.endpoint begins with {scheme}, not http or https"
        );
        Ok(())
    }
}
