//! The admission to each service.

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};
use service::metrics::Registrar;

use super::routes::{PerService, Service};
use crate::admission::{self, Gate};

/// Name and help of each gauge.
const GAUGES: [(&str, &str); 5] = [
    ("gateway_admitted_requests", "Requests in progress at a service"),
    ("gateway_admission_limit", "Maximum number of concurrent requests to a service"),
    ("gateway_admission_share_limit", "Maximum number of concurrent requests of one tenant to a service"),
    ("gateway_waiting_requests", "Requests that wait for admission"),
    ("gateway_shed_requests", "Requests that were shed since the start"),
];

/// The gates of all services. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Gates(PerService<Gate>);

impl Default for Gates {
    fn default() -> Self {
        Self(PerService::new(|_| Gate::default()))
    }
}

impl Gates {
    pub(super) fn of(&self, service: Service) -> &Gate {
        self.0.of(service)
    }

    pub(super) fn register(&self, registry: &mut Registrar<'_>) {
        registry.register_gauges(&GAUGES, &["upstream"], self.clone());
    }
}

impl Collector for Gates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        type Value = fn(&admission::Load) -> usize;
        let values: [Value; 5] = [
            |load| load.in_flight,
            |load| load.limit,
            |load| load.of_one_share,
            |load| load.waiting,
            |load| load.shed,
        ];
        for ((name, help), value) in GAUGES.into_iter().zip(values) {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for service in Service::all() {
                let value = i64::try_from(value(&self.of(service).load())).unwrap_or(i64::MAX);
                let labels = [("upstream", service.name())];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
