//! How many logs, terminals and event streams of a tenant this replica serves at a time. Each replica counts its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ids::TenantId;

use crate::{config::StreamsConfig, error::Error};

/// What a tenant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A log.
    Log,
    /// A terminal.
    Terminal,
    /// A stream of events.
    Events,
}

/// The open streams of this replica. Clones share them.
#[derive(Clone)]
pub(crate) struct Streams {
    config: StreamsConfig,
    open: Arc<Mutex<HashMap<(TenantId, Kind), u32>>>,
}

impl Streams {
    pub(crate) fn new(config: StreamsConfig) -> Self {
        Self { config, open: Arc::default() }
    }

    /// Counts a stream until the result is dropped.
    ///
    /// # Errors
    /// If the tenant has as many as it may have.
    pub(crate) fn open(&self, tenant: TenantId, kind: Kind) -> Result<Open, Error> {
        let limit = match kind {
            Kind::Log => self.config.logs_per_tenant,
            Kind::Terminal => self.config.terminals_per_tenant,
            Kind::Events => self.config.events_per_tenant,
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry((tenant, kind)).or_default();
        if *count >= limit {
            return Err(Error::TooManyStreams { limit });
        }
        *count += 1;
        Ok(Open { streams: self.clone(), key: (tenant, kind) })
    }
}

/// An open stream.
pub(crate) struct Open {
    streams: Streams,
    key: (TenantId, Kind),
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_so_many_streams_of_a_kind_at_a_time() {
        let streams = Streams::new(StreamsConfig {
            logs_per_tenant: 2,
            terminals_per_tenant: 1,
            ..StreamsConfig::default()
        });
        let (one, other) = (TenantId::new(), TenantId::new());
        let first = streams.open(one, Kind::Log).ok();
        let second = streams.open(one, Kind::Log).ok().unwrap();
        assert!(matches!(streams.open(one, Kind::Log), Err(Error::TooManyStreams { limit: 2 })));
        let _terminal = streams.open(one, Kind::Terminal).ok().unwrap();
        assert!(streams.open(one, Kind::Terminal).is_err());
        assert!(streams.open(other, Kind::Log).is_ok(), "another tenant has its own");
        drop(first);
        assert!(streams.open(one, Kind::Log).is_ok());
        drop(second);
        assert_eq!(streams.open.lock().unwrap().len(), 1, "only the terminal is left");
    }
}
