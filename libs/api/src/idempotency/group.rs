//! Writes of one caller that share a transaction.

use std::{collections::HashSet, fmt::Display};

use serde::Serialize;
use sqlx::{PgConnection, Postgres, Transaction};

use super::{IdempotencyKey, Reply, in_use, missed, outcome_unknown, store};
use crate::{audit, problem::Problem};

/// The result of each write, in their order.
type Outcomes = Vec<Result<Reply, Problem>>;

impl IdempotencyKey {
    /// Carries out writes of one caller (`scope`), each like [`IdempotencyKey::once`], in one transaction, and commits
    /// it. `effect` gets the positions of the writes that were not carried out before, and returns their results in
    /// this order. A refused write must have left nothing in the transaction. If two have the same key, the second is
    /// refused with 409.
    ///
    /// # Errors
    /// If the transaction fails. Nothing is then carried out, or, if the connection is lost during the commit, all or nothing.
    pub async fn once_each<B, F>(
        mut tx: Transaction<'_, Postgres>,
        scope: impl Display,
        writes: &[(Self, B)],
        effect: F,
    ) -> Result<Outcomes, Problem>
    where
        B: Serialize,
        F: AsyncFnOnce(&mut PgConnection, Vec<usize>) -> Result<Outcomes, Problem>,
    {
        match each(&mut tx, &scope.to_string(), writes, effect).await {
            Ok(outcomes) => {
                tx.commit().await.map_err(outcome_unknown)?;
                Ok(outcomes)
            }
            Err(problem) => {
                // if the rollback fails, the transaction ends with its connection
                let _ = tx.rollback().await;
                Err(problem)
            }
        }
    }
}

async fn each<B, F>(
    tx: &mut PgConnection,
    scope: &str,
    writes: &[(IdempotencyKey, B)],
    effect: F,
) -> Result<Outcomes, Problem>
where
    B: Serialize,
    F: AsyncFnOnce(&mut PgConnection, Vec<usize>) -> Result<Outcomes, Problem>,
{
    let hashes = writes.iter().map(|(key, body)| key.hash(body)).collect::<Result<Vec<_>, _>>()?;
    let keys: Vec<String> = writes.iter().map(|(key, _)| key.key.clone()).collect();
    let mut seen = HashSet::new();
    // None: not carried out before
    let mut outcomes: Vec<Option<Result<Reply, Problem>>> = Vec::with_capacity(writes.len());
    for ((is_locked, stored), (key, hash)) in
        store::lock_all(tx, scope, &keys).await?.into_iter().zip(keys.iter().zip(&hashes))
    {
        outcomes.push(match stored {
            Some(stored) if is_locked => Some(stored.reply_to(hash)),
            // another session has the lock, or an earlier write has the same key
            _ if !is_locked || !seen.insert(key) => Some(Err(in_use())),
            _ => None,
        });
    }
    let new: Vec<usize> =
        outcomes.iter().enumerate().filter(|(_, known)| known.is_none()).map(|(n, _)| n).collect();
    if !new.is_empty() {
        for (n, outcome) in new.iter().zip(effect(tx, new.clone()).await?) {
            outcomes[*n] = Some(outcome);
        }
        let done = new.iter().filter_map(|n| match &outcomes[*n] {
            Some(Ok(reply)) => Some((*n, reply)),
            _ => None,
        });
        let stored: Vec<_> = done.clone().map(|(n, reply)| (keys[n].as_str(), &*hashes[n], reply)).collect();
        store::insert_all(tx, scope, &stored).await.map_err(missed)?;
        // last: it locks the log of the tenant until the commit
        let entries = done.map(|(n, reply)| {
            let (key, body) = &writes[n];
            (&key.audit, reply.status, reply.created(key.audit.path()), body)
        });
        audit::record_all(tx, entries).await?;
    }
    let lost = || Problem::internal("an effect returned too few outcomes");
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Err(lost()))).collect())
}
