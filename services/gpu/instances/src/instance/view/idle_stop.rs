//! The idle stop of an instance as its tenant sees it.

use gpu_core::instance::Instance;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The idle stop of an instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InstanceIdleStop)]
pub(crate) struct IdleStopView {
    /// Seconds for which the instance has to be idle.
    after_seconds: u32,
    /// Use of a GPU, in percent, from which on the instance is not idle.
    gpu_below_percent: u8,
    /// Use of the CPU, in percent of the cores of the unit, from which on the instance is not idle.
    cpu_below_percent: u8,
    /// Since when it is idle, once the stop is announced; otherwise null.
    idle_since: Option<Timestamp>,
    /// When it is stopped unless it is used or the stop is postponed, once that is announced; otherwise null.
    stop_at: Option<Timestamp>,
}

impl IdleStopView {
    pub(crate) fn of(instance: &Instance) -> Option<Self> {
        let idle_stop = instance.idle_stop.as_ref()?;
        let announced = instance.announced_idle_stop();
        Some(Self {
            after_seconds: idle_stop.after_seconds,
            gpu_below_percent: idle_stop.gpu_below_percent,
            cpu_below_percent: idle_stop.cpu_below_percent,
            idle_since: announced.map(|announced| announced.idle_since),
            stop_at: announced.map(|announced| announced.stop_at),
        })
    }
}
