//! Cached answers to reads, valid until their source changes.
//!
//! Each answer carries the generation in which it was read, and is valid while that generation is current. The
//! generation is read before the answer, and a change starts a new one after its commit: an answer that was read before
//! a change and stored after it is not valid. If a change cannot reach the store, answers expire.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{Area, Cache};

/// Lifetime of an answer that replicas share: its maximum age after a change that did not reach the store.
pub const LIFE: Duration = Duration::from_secs(5);
/// Lifetime of an answer in memory: its maximum age after a change by another replica.
pub const LOCAL_LIFE: Duration = Duration::from_secs(1);
/// Lifetime of a generation, much longer than that of an answer.
const GENERATION_LIFE: Duration = Duration::from_secs(3600);
/// The key of the current generation, which is not hashed.
const GENERATION: &str = "generation";

/// Cached answers for all readers, to reads of data that changes together.
#[derive(Clone)]
pub struct Reads {
    area: Area,
    life: Duration,
}

#[derive(Serialize, Deserialize)]
struct Answer<T> {
    generation: Uuid,
    answer: T,
}

impl Reads {
    /// Reads of one kind.
    #[must_use]
    pub fn new(cache: &Cache, name: &'static str) -> Self {
        Self { area: cache.area(name), life: if cache.is_shared() { LIFE } else { LOCAL_LIFE } }
    }

    /// Returns the answer to `question`: the cached one, or else that of `read`, which is cached unless it is an error.
    ///
    /// # Errors
    /// That of `read`.
    pub async fn read<T, E>(
        &self,
        question: &impl Serialize,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
    {
        // questions have no length limit
        let question = serde_json::to_vec(question).map(Sha256::digest).map(hex::encode);
        let Ok(key) = question else { return read.await };
        let (generation, known) = match self.area.load(&[GENERATION.to_owned(), key.clone()]).await {
            Some(found) => {
                let [generation, known] = found.try_into().unwrap_or_default();
                (decode::<Uuid>(generation), decode::<Answer<T>>(known))
            }
            None => {
                self.area.count("failed");
                return read.await;
            }
        };
        if let (Some(generation), Some(known)) = (generation, known)
            && known.generation == generation
        {
            self.area.count("hit");
            return Ok(known.answer);
        }
        self.area.count("miss");
        let generation = match generation {
            Some(generation) => Some(generation),
            None => self.begin_generation().await,
        };
        let answer = read.await?;
        match generation {
            Some(generation) => {
                let known = Answer { generation, answer };
                self.area.put(&key, &known, self.life).await;
                Ok(known.answer)
            }
            None => Ok(answer),
        }
    }

    /// Invalidates all answers, because their source has changed.
    pub async fn changed(&self) {
        self.begin_generation().await;
    }

    async fn begin_generation(&self) -> Option<Uuid> {
        let generation = Uuid::new_v4();
        self.area.put(GENERATION, &generation, GENERATION_LIFE).await.then_some(generation)
    }
}

fn decode<T: DeserializeOwned>(bytes: Option<Vec<u8>>) -> Option<T> {
    serde_json::from_slice(&bytes?).ok()
}
