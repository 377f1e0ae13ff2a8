//! The host names that the gateway serves: the platform's own, and those of instances.

use serde::Deserialize;
use url::Url;

/// Instances' host names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Apps {
    /// The domain below which instances have their names, `inst-….<domain>` (default `localhost`). It must serve
    /// nothing else. Make it a public suffix of its own, or at least not the console's domain: instances serve pages
    /// that their users control.
    pub domain: String,
}

impl Default for Apps {
    fn default() -> Self {
        Self { domain: "localhost".to_owned() }
    }
}

/// The host names of the platform and of instances.
#[derive(Debug, Clone)]
pub(crate) struct HostNames {
    pub(crate) public_url: Url,
    /// The domain below which instances have their names.
    pub(crate) apps_domain: String,
}

impl HostNames {
    /// Whether a host name is the platform's own.
    pub(crate) fn is_own(&self, host: &str) -> bool {
        self.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(host))
    }

    /// The label before `.<apps domain>` in a host name. It may not belong to an instance.
    pub(crate) fn instance_label<'h>(&self, host: &'h str) -> Option<&'h str> {
        host.strip_suffix(&self.apps_domain)?.strip_suffix('.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_below_the_apps_domain_are_instances() {
        let names = HostNames {
            public_url: "https://atelier.test".parse().unwrap(),
            apps_domain: "apps.test".to_owned(),
        };
        for (host, label) in [
            ("inst-1.apps.test", Some("inst-1")),
            ("a.b.apps.test", Some("a.b")),
            ("apps.test", None),
            ("inst-1apps.test", None),
            ("inst-1.apps.test.evil", None),
            ("other.test", None),
        ] {
            assert_eq!(names.instance_label(host), label, "{host}");
        }
    }
}
