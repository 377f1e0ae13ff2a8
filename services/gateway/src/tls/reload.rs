//! The task `gateway.certificates.follow`, which loads certificates again when their files change. It compares the content:
//! modification times do not show changes of a mounted Secret, where Kubernetes replaces a link.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
};
use service::{Duty, Metrics, Round, Task};

use super::{
    Certificates, Tls,
    certificate::{Certificate, Content},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    /// The file of the certificate.
    file: String,
}

/// Metrics of the certificates.
#[derive(Clone, Default)]
pub(crate) struct Gauges {
    expires_at: Family<Labels, Gauge>,
    is_outdated: Family<Labels, Gauge>,
}

impl Gauges {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let gauges = Self::default();
        metrics.register(|registry| {
            registry.register(
                "tls_certificate_expiry_timestamp_seconds",
                "End of the validity of the certificate in use, in seconds since 1970",
                &["file"],
                gauges.expires_at.clone(),
            );
            registry.register(
                "tls_certificate_outdated",
                "1 while the files have changed and cannot be loaded: an older certificate is in use",
                &["file"],
                gauges.is_outdated.clone(),
            );
        });
        gauges
    }

    pub(super) fn loaded(&self, certificate: &Certificate) {
        self.expires_at.get_or_create(&labels(certificate)).set(certificate.expires_at);
        self.set_outdated(certificate, false);
    }

    fn set_outdated(&self, certificate: &Certificate, is_outdated: bool) {
        self.is_outdated.get_or_create(&labels(certificate)).set(is_outdated.into());
    }
}

fn labels(certificate: &Certificate) -> Labels {
    Labels { file: certificate.files.certificate.display().to_string() }
}

impl Tls {
    /// The task that replaces certificates.
    pub(crate) fn task(&self) -> Task {
        let parts = (self.clone(), Arc::new(Mutex::new(vec![None; self.certificates.0.len()])));
        Task::every("certificates", Duty::Follow, self.reload, &parts, |(tls, failures)| async move {
            tokio::task::spawn_blocking(move || {
                let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                tls.certificates.reload(&tls.gauges, &mut failures);
            })
            .await?;
            Ok(Round::Done)
        })
    }
}

impl Certificates {
    /// Replaces the certificates whose files have changed. `failures` has the last error of each, which is logged once.
    fn reload(&self, gauges: &Gauges, failures: &mut [Option<String>]) {
        for (slot, failure) in self.0.iter().zip(failures) {
            let current = slot.load_full();
            match changed(&current) {
                Ok(None) => {
                    *failure = None;
                    gauges.set_outdated(&current, false);
                }
                Ok(Some(new)) => {
                    *failure = None;
                    gauges.loaded(&new);
                    tracing::info!(file = %new.files.certificate.display(), "certificate replaced");
                    slot.store(Arc::new(new));
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    gauges.set_outdated(&current, true);
                    if failure.as_ref() != Some(&error) {
                        tracing::error!(
                            error,
                            "cannot load a changed certificate; the older one stays in use"
                        );
                        *failure = Some(error);
                    }
                }
            }
        }
    }
}

/// Returns the certificate of the files, if they have changed.
fn changed(current: &Certificate) -> anyhow::Result<Option<Certificate>> {
    let content = Content::read(&current.files)?;
    if content.hash() == current.content {
        return Ok(None);
    }
    Certificate::parse(&current.files, &content).map(Some)
}
