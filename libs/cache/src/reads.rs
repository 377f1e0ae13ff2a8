//! Answers to reads, until what they were read from changes.
//!
//! Each answer carries the generation in which it was read, and counts while that is the present one. A generation is named before the
//! read begins, and a change begins another after its commit: an answer that was read before a change and stored after it does not count.
//! If the change cannot tell the store, an answer ends with its life.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{Area, Cache};

/// Life of an answer that replicas share: how old one can be after a change of which the store was not told.
pub const LIFE: Duration = Duration::from_secs(5);
/// Life of an answer in memory: how old one can be after a change by another replica.
pub const LOCAL_LIFE: Duration = Duration::from_secs(1);
/// Life of a generation, far above that of an answer.
const GENERATION_LIFE: Duration = Duration::from_secs(3600);
/// The key of the present generation: no hash.
const GENERATION: &str = "generation";

/// Answers that all readers may have, to reads of what changes together.
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

    /// Returns the answer to `question`: one that is known, or else that of `read`, which is remembered unless it is an error.
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
        // questions are as long as clients like
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

    /// Forgets all answers: what they were read from has changed.
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
