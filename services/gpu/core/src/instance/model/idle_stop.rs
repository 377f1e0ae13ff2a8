//! How the stop of an idle instance is set, announced and withdrawn.

use super::{
    super::{
        idle_stop::{Announced, IdleStop, IdleStopSettings},
        parts::Failure,
        state::State,
    },
    Effects, Instance,
};
use crate::{
    event::{Detail, Entry, IdleStopAnnounced, IdleStopWithdrawal, IdleStopWithdrawn},
    reason::{Reason, ReasonCode},
};

impl Instance {
    /// Returns the announced stop of a running instance.
    #[must_use]
    pub fn announced_idle_stop(&self) -> Option<Announced> {
        let running = matches!(self.state, State::Running { .. });
        self.idle_stop.as_ref().filter(|_| running)?.announced
    }

    /// Changes the settings. Returns what is logged besides the change.
    pub fn set_idle_stop(&mut self, settings: Option<IdleStopSettings>) -> Vec<Entry> {
        let withdrawn = self.withdraw_idle_stop(IdleStopWithdrawal::SettingsChanged);
        self.idle_stop = settings.map(IdleStop::from);
        withdrawn.into_iter().collect()
    }

    /// Announces that the instance will be stopped.
    pub fn announce_idle_stop(&mut self, data: IdleStopAnnounced) -> Effects {
        let Some(idle_stop) = &mut self.idle_stop else { return Effects::default() };
        idle_stop.announced = Some(Announced { idle_since: data.idle_since, stop_at: data.stop_at });
        Effects { log: vec![Detail::IdleStopAnnounced(data).into()], ..Effects::default() }
    }

    /// Withdraws the announced stop, if there is one.
    pub fn withdraw_idle_stop(&mut self, cause: IdleStopWithdrawal) -> Option<Entry> {
        let Announced { stop_at, .. } = self.idle_stop.as_mut()?.announced.take()?;
        Some(Detail::IdleStopWithdrawn(IdleStopWithdrawn { stop_at, cause }).into())
    }

    /// The announcement of an instance that does not run any more.
    pub(crate) fn leave_idle_stop(&mut self) -> Option<Entry> {
        let running = matches!(self.state, State::Running { .. });
        if running { None } else { self.withdraw_idle_stop(IdleStopWithdrawal::NotRunning) }
    }

    /// Takes the announcement of the stop. Returns the reason of the stop.
    pub fn end_idle_stop(&mut self) -> Option<Failure> {
        let idle_stop = self.idle_stop.as_mut()?;
        let Announced { idle_since, .. } = idle_stop.announced.take()?;
        let message = format!(
            "The instance was idle since {idle_since}, and was stopped as set in `idle_stop`. Start it again to use it."
        );
        Some(Failure::new(Reason::new(ReasonCode::IdleStopped, message)))
    }
}
