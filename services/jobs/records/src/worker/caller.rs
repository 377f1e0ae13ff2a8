//! Who calls the listener for workers.

use std::time::Duration;

use api::Problem;
use axum::{
    extract::{FromRef, FromRequestParts},
    http::{header, request},
};
use db::Db;
use ids::{JobId, WorkerId};

use super::{
    error::{Error, NotYours},
    store::{self, Held, delivers},
    token::hash,
};
use crate::rest;

/// A worker, identified by its token.
#[derive(Debug, Clone, Copy)]
pub struct WorkerCaller(pub WorkerId);

impl WorkerCaller {
    /// Records that the session's process is alive, and locks the worker.
    ///
    /// # Errors
    /// [`NotYours`] if the session has ended.
    pub async fn touch(self, conn: &mut sqlx::PgConnection, session: i64) -> Result<Held, Error> {
        self.touch_for(conn, session, None).await
    }

    /// As [`Self::touch`], and counts the process as present for a longer time.
    ///
    /// # Errors
    /// [`NotYours`] if the session has ended.
    pub async fn touch_for(
        self,
        conn: &mut sqlx::PgConnection,
        session: i64,
        present_for: Option<Duration>,
    ) -> Result<Held, Error> {
        store::touch(conn, self.0, session, present_for).await?.ok_or(NotYours.into())
    }

    /// No longer counts the process as present.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn doubt(self, conn: &mut sqlx::PgConnection, session: i64) -> sqlx::Result<()> {
        store::doubt(conn, self.0, session).await?;
        // it may be silent soon
        rest::wake(conn).await
    }

    /// As [`Self::touch`], for a call about an attempt.
    ///
    /// # Errors
    /// [`NotYours`] if the session has ended, or the worker does not run or deliver the attempt.
    pub async fn touch_running(
        self,
        conn: &mut sqlx::PgConnection,
        session: i64,
        attempt: (JobId, i32),
    ) -> Result<Held, Error> {
        let held = self.touch(conn, session).await?;
        let is_held = held.current == Some(attempt) || delivers(conn, self.0, attempt).await?;
        if is_held { Ok(held) } else { Err(NotYours.into()) }
    }

    /// Locks the worker.
    pub async fn lock(self, conn: &mut sqlx::PgConnection) -> Result<Held, Problem> {
        store::lock(conn, self.0).await?.ok_or_else(Problem::not_found)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WorkerCaller
where
    Db: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Self, Problem> {
        let unknown = || Problem::unauthenticated("The token of the worker is missing or unknown.");
        let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer ")).ok_or_else(unknown)?;
        let mut tx = Db::from_ref(state).worker().await?;
        store::find_by_token(&mut tx, &hash(token)).await?.map(Self).ok_or_else(unknown)
    }
}
