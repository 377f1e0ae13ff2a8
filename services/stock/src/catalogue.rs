//! Cached answers about specifications and datacenters, valid until one of them changes.

use api::{Problem, Reply};
use auth::User;
use cache::{Cache, Reads};
use serde::{Serialize, de::DeserializeOwned};

/// The cached answers. Clones share them.
#[derive(Clone)]
pub(crate) struct Catalogue(Reads);

impl Catalogue {
    pub(crate) fn new(cache: &Cache) -> Self {
        Self(Reads::new(cache, "catalogue"))
    }

    /// Returns the answer to a question about specifications or datacenters: a cached one, or that of `read`.
    /// Administrators get that of `read`, so that they see their own changes.
    ///
    /// # Errors
    /// That of `read`.
    pub(crate) async fn read<T: Serialize + DeserializeOwned>(
        &self,
        user: &User,
        question: &impl Serialize,
        read: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        if user.0.admin { read.await } else { self.0.read(question, read).await }
    }

    /// Carries out a change of specifications or datacenters, and invalidates the cached answers.
    ///
    /// # Errors
    /// That of `change`.
    pub(crate) async fn changing(
        &self,
        change: impl Future<Output = Result<Reply, Problem>>,
    ) -> Result<Reply, Problem> {
        let reply = change.await?;
        self.0.changed().await;
        Ok(reply)
    }
}
