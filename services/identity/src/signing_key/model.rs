//! When each key is published, signs and is deleted. All replicas reach the same decision from the stored
//! times alone.

use ids::SigningKeyId;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::Config;

/// How much the clocks of replicas and verifiers may differ.
const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// The stage of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Published, does not sign yet.
    Next,
    /// Signs.
    Active,
    /// Signs no more; tokens it signed may still live.
    Retiring,
    /// No token of it lives.
    Ended,
}

/// A key that signs access tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SigningKey {
    /// `kid` of the tokens it signs.
    pub(crate) id: SigningKeyId,
    /// Always `RS256`.
    pub(crate) algorithm: &'static str,
    /// The current stage.
    pub(crate) stage: Stage,
    /// When the key began, or begins, to sign.
    pub(crate) active_from: Timestamp,
    /// When it was created.
    pub(crate) created_at: Timestamp,
}

/// A request for the next signing key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SigningKeyRequest {
    /// Id of the key, once it exists.
    pub(crate) id: SigningKeyId,
    /// When the key was requested.
    pub(crate) requested_at: Timestamp,
}

/// The configured lifetimes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    rotate_every: SignedDuration,
    publish_before: SignedDuration,
    token_life: SignedDuration,
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Self {
        let seconds = |s: u32| SignedDuration::from_secs(s.into());
        Self {
            rotate_every: seconds(config.signing.rotate_every_seconds),
            publish_before: seconds(config.signing.publish_before_seconds),
            token_life: seconds(config.sessions.access_token_seconds),
        }
    }

    /// How long verifiers may keep the published keys: at most half of the time for which a key is published before it
    /// signs.
    pub(super) fn cache_seconds(&self) -> i64 {
        (self.publish_before.as_secs() / 2).min(300)
    }

    /// The stage of each key, given when each begins to sign (in ascending order).
    pub(crate) fn stages(&self, active_from: &[Timestamp], now: Timestamp) -> Vec<Stage> {
        active_from
            .iter()
            .enumerate()
            .map(|(i, from)| match active_from.get(i + 1) {
                _ if *from > now => Stage::Next,
                None => Stage::Active,
                Some(successor) if *successor > now => Stage::Active,
                Some(successor) if *successor + self.token_life + SKEW > now => Stage::Retiring,
                Some(_) => Stage::Ended,
            })
            .collect()
    }

    /// Returns when a new key begins to sign, if one is due: now if there is no key, otherwise after it has been
    /// published for long enough. No key is due while the next one is already published, nor (unless `forced`) before
    /// the active one has signed for its time.
    pub(crate) fn next(&self, active_from: &[Timestamp], now: Timestamp, forced: bool) -> Option<Timestamp> {
        match active_from.last() {
            None => Some(now),
            Some(newest) if *newest > now => None,
            Some(newest) if forced || *newest + self.rotate_every <= now => Some(now + self.publish_before),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_published_then_signs_then_outlives_its_tokens() {
        let seconds = SignedDuration::from_secs;
        let rules =
            Rules { rotate_every: seconds(1000), publish_before: seconds(100), token_life: seconds(600) };
        let t0 = Timestamp::UNIX_EPOCH;
        let at = |s| t0 + seconds(s);
        assert_eq!(rules.next(&[], t0, false), Some(t0), "the first key signs at once");
        assert_eq!(rules.next(&[t0], at(999), false), None);
        assert_eq!(rules.next(&[t0], at(1000), false), Some(at(1100)));
        assert_eq!(rules.next(&[t0], at(5), true), Some(at(105)), "forced");
        assert_eq!(rules.next(&[t0, at(105)], at(50), true), None, "the next key is already published");

        let keys = [t0, at(1100)];
        for (now, stages) in [
            (1050, [Stage::Active, Stage::Next]),
            (1100, [Stage::Retiring, Stage::Active]),
            (1759, [Stage::Retiring, Stage::Active]),
            (1760, [Stage::Ended, Stage::Active]),
        ] {
            assert_eq!(rules.stages(&keys, at(now)), stages, "at {now}");
        }
    }
}
