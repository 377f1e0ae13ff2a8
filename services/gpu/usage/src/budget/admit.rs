//! Whether the tenant's allowances let an instance start, or keep its unit.

use api::{Problem, ProblemType};
use gpu_core::{
    budget::{Allowance, Refused},
    instance::Instance,
};
use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::store;
use crate::quota;

/// The time of the check, and how long an allowance counts that its issuer does not renew.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    pub now: Timestamp,
    pub grace: SignedDuration,
}

impl Admission {
    /// Returns why the instance may not start; none if it may. Other transactions that add to the tenant's
    /// use or change its allowances wait until this one ends.
    pub async fn check_start(
        self,
        conn: &mut PgConnection,
        instance: &Instance,
    ) -> sqlx::Result<Option<Refused>> {
        // most tenants have no allowances: their starts do not wait for one another
        if store::allowances(conn, instance.tenant).await?.is_empty() {
            return Ok(None);
        }
        quota::lock_use(conn, instance.tenant).await?;
        self.quote(conn, instance).await
    }

    /// Like [`Self::check_start`], without a lock: another instance may be first.
    pub async fn quote(self, conn: &mut PgConnection, instance: &Instance) -> sqlx::Result<Option<Refused>> {
        for allowance in store::allowances(conn, instance.tenant).await? {
            let requested = quota::cost_added(instance, &allowance.currency);
            let used = quota::cost_used(conn, instance, &allowance.currency).await?;
            let refused = allowance.refuses((used, requested), self.now, self.grace);
            if refused.is_some() {
                return Ok(refused);
            }
        }
        Ok(None)
    }

    /// Returns why the instance may not keep its unit while it is stopped; none if it may.
    pub async fn check_hold(
        self,
        conn: &mut PgConnection,
        instance: &Instance,
    ) -> sqlx::Result<Option<Refused>> {
        if store::allowances(conn, instance.tenant).await?.is_empty() {
            return Ok(None);
        }
        quota::lock_use(conn, instance.tenant).await?;
        let allowances = store::allowances(conn, instance.tenant).await?;
        // a hold costs less than the run that it follows
        let refused = |allowance: &Allowance| allowance.refuses(Default::default(), self.now, self.grace);
        Ok(allowances.iter().find_map(refused))
    }
}

/// The problem of a start that the allowance does not allow.
pub fn problem(refused: Refused) -> Problem {
    let detail = refused.to_string();
    let exhausted =
        |renews_at| Problem::new(ProblemType::BudgetExhausted, detail.clone()).with("renews_at", renews_at);
    match refused {
        Refused::Exhausted { renews_at } => exhausted(renews_at),
        Refused::Rate { most, used, requested, currency, renews_at } => exhausted(renews_at)
            .with("limit", most)
            .with("used", used)
            .with("requested", requested)
            .with("currency", currency),
        Refused::Expired { expired_at } => {
            Problem::new(ProblemType::AllowanceExpired, detail).with("expired_at", expired_at)
        }
    }
}
