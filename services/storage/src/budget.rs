//! Whether a tenant has anything left to spend. The gpu service has the budgets.

use api::{Problem, ProblemType};
use ids::TenantId;

/// Budgets of tenants, checked by the gpu service. Not checked if none is configured.
#[derive(Clone)]
pub(crate) struct Budgets(pub(crate) Option<gpu_api::Client>);

impl Budgets {
    /// Requires that a tenant has not spent its budget. Call it before the transaction of a request, and use
    /// the result in it: a repeated request gets the stored response.
    ///
    /// # Errors
    /// `budget-exhausted` or `allowance-expired`; `unavailable` if the gpu service does not answer.
    pub(crate) async fn check(&self, tenant: TenantId) -> Result<(), Problem> {
        let Some(gpu) = &self.0 else { return Ok(()) };
        let found = gpu.spent_tenants(Some(tenant)).await;
        let spent = found.map_err(|error| Problem::unavailable("The gpu service", error))?;
        match spent.items.into_iter().find(|spent| spent.tenant_id == tenant) {
            None => Ok(()),
            Some(spent) if spent.reason == "budget_exhausted" => {
                Err(Problem::new(ProblemType::BudgetExhausted, spent.message)
                    .with("renews_at", spent.renews_at))
            }
            Some(spent) => Err(Problem::new(ProblemType::AllowanceExpired, spent.message)),
        }
    }
}
