//! The idle stop of an instance: its settings and its announcement. Pure. Whether the instance is idle is decided in
//! `crate::idle`.

use api::Checks;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    model::{Effects, Instance},
    parts::Failure,
    reason::{Reason, ReasonCode},
    state::State,
};
use crate::{
    config::IdleConfig,
    event::{Detail, Entry, IdleStopAnnounced, IdleStopWithdrawal, IdleStopWithdrawn},
};

/// The longest idle time after which an instance is stopped, in seconds.
const MAX_AFTER: u32 = 7 * 86_400;

/// When an instance is stopped because it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdleStopSettings {
    /// Seconds for which the instance has to be idle, 900 (unless configured otherwise) to 604,800.
    after_seconds: u32,
    /// The GPUs are idle while each of them is used less than this, in percent. In clusters without Prometheus the
    /// use of GPUs is not measured, and the CPU alone decides.
    #[serde(default = "default_percent")]
    #[schema(default = 5, minimum = 1, maximum = 100)]
    gpu_below_percent: u8,
    /// The CPU is idle while less than this is used, in percent of the cores of the unit.
    #[serde(default = "default_percent")]
    #[schema(default = 5, minimum = 1, maximum = 100)]
    cpu_below_percent: u8,
}

fn default_percent() -> u8 {
    5
}

impl IdleStopSettings {
    pub(super) fn check(&self, checks: &mut Checks, config: IdleConfig) {
        let range = config.min_after_seconds..=MAX_AFTER;
        let detail = format!(
            "must be {} to {MAX_AFTER} seconds: the stop is announced {} seconds before",
            config.min_after_seconds, config.notice_seconds
        );
        checks.require(range.contains(&self.after_seconds), "/idle_stop/after_seconds", &detail);
        let percent = |value: u8| (1..=100).contains(&value);
        let detail = "must be 1 to 100 percent";
        checks.require(percent(self.gpu_below_percent), "/idle_stop/gpu_below_percent", detail);
        checks.require(percent(self.cpu_below_percent), "/idle_stop/cpu_below_percent", detail);
    }
}

/// The setting of an instance, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdleStop {
    /// Seconds for which the instance has to be idle.
    pub after_seconds: u32,
    /// Use of a GPU, in percent, from which on it is not idle.
    pub gpu_below_percent: u8,
    /// Use of the CPU, in percent of the cores of the unit, from which on it is not idle.
    pub cpu_below_percent: u8,
    /// The stop that is ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<Announced>,
}

impl From<IdleStopSettings> for IdleStop {
    fn from(settings: IdleStopSettings) -> Self {
        let IdleStopSettings { after_seconds, gpu_below_percent, cpu_below_percent } = settings;
        Self { after_seconds, gpu_below_percent, cpu_below_percent, announced: None }
    }
}

/// A stop that was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Since when the instance is idle.
    pub idle_since: Timestamp,
    /// The instance is not stopped before.
    pub stop_at: Timestamp,
}

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
    pub(super) fn of(instance: &Instance) -> Option<Self> {
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

impl Instance {
    /// Returns the announced stop of a running instance.
    #[must_use]
    pub fn announced_idle_stop(&self) -> Option<Announced> {
        let running = matches!(self.state, State::Running { .. });
        self.idle_stop.as_ref().filter(|_| running)?.announced
    }

    /// Changes the settings. Returns what is logged besides the change.
    pub(super) fn set_idle_stop(&mut self, settings: Option<IdleStopSettings>) -> Vec<Entry> {
        let withdrawn = self.withdraw_idle_stop(IdleStopWithdrawal::SettingsChanged);
        self.idle_stop = settings.map(IdleStop::from);
        withdrawn.into_iter().collect()
    }

    /// Announces that the instance will be stopped.
    pub(crate) fn announce_idle_stop(&mut self, data: IdleStopAnnounced) -> Effects {
        let Some(idle_stop) = &mut self.idle_stop else { return Effects::default() };
        idle_stop.announced = Some(Announced { idle_since: data.idle_since, stop_at: data.stop_at });
        Effects { log: vec![Detail::IdleStopAnnounced(data).into()], ..Effects::default() }
    }

    /// Withdraws the announced stop, if there is one.
    pub(crate) fn withdraw_idle_stop(&mut self, cause: IdleStopWithdrawal) -> Option<Entry> {
        let Announced { stop_at, .. } = self.idle_stop.as_mut()?.announced.take()?;
        Some(Detail::IdleStopWithdrawn(IdleStopWithdrawn { stop_at, cause }).into())
    }

    /// The announcement of an instance that does not run any more.
    pub(super) fn leave_idle_stop(&mut self) -> Option<Entry> {
        let running = matches!(self.state, State::Running { .. });
        if running { None } else { self.withdraw_idle_stop(IdleStopWithdrawal::NotRunning) }
    }

    /// Takes the announcement that the instance is stopped by. Returns why it is stopped.
    pub(crate) fn end_idle_stop(&mut self) -> Option<Failure> {
        let idle_stop = self.idle_stop.as_mut()?;
        let Announced { idle_since, .. } = idle_stop.announced.take()?;
        let message = format!(
            "The instance was idle since {idle_since}, and was stopped as set in `idle_stop`. Start it again to use it."
        );
        Some(Failure::new(Reason::new(ReasonCode::IdleStopped, message)))
    }
}
