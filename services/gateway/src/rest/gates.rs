//! The admission to each service.

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
    registry::Registry,
};

use super::routes::Service;
use crate::admission::{self, Gate};

/// The gates of all services. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Gates([Gate; 4]);

impl Gates {
    pub(super) fn of(&self, service: Service) -> &Gate {
        &self.0[service as usize]
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl Collector for Gates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        type Value = fn(&admission::Load) -> usize;
        let metrics: [(&str, &str, Value); 4] = [
            ("gateway_admitted_requests", "Requests at a service", |load| load.in_flight),
            ("gateway_admission_limit", "The most requests that a service gets at a time", |load| load.limit),
            ("gateway_waiting_requests", "Requests that wait for admission", |load| load.waiting),
            ("gateway_shed_requests", "Requests that were shed since the start", |load| load.shed),
        ];
        for (name, help, value) in metrics {
            let mut family =
                encoder.encode_descriptor(name, help, None, prometheus_client::metrics::MetricType::Gauge)?;
            for service in Service::ALL {
                let value = i64::try_from(value(&self.of(service).load())).unwrap_or(i64::MAX);
                let labels = [("service", service.name())];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
