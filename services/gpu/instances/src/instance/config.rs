//! Configuration of instances: host names.

use gpu_api::HostLabel;
use ids::InstanceId;
use serde::Deserialize;

/// Host names of instances: `<scheme>://<inst-…>.<domain>[:<port>]/`, and `<scheme>://p<port>-<inst-…>.<domain>[:<port>]/`
/// of their public ports.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apps {
    /// `http` or `https`.
    pub scheme: String,
    /// Parent domain of the instances' host names.
    pub domain: String,
    /// Port; the scheme's default when absent.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Apps {
    /// Returns the URL of an instance, or of one of its public ports, with a slash at the end.
    #[must_use]
    pub fn url(&self, instance: InstanceId, public_port: Option<u16>) -> String {
        let Self { scheme, domain, port } = self;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let label = HostLabel { instance, port: public_port };
        format!("{scheme}://{label}.{domain}{port}/")
    }
}
