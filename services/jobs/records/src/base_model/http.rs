//! `/v1/base-models`: the values of `model` and `base_model` of jobs.

use api::{Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Role, User};
use axum::extract::{FromRef, State};
use db::Db;
use jobs_core::needs::BaseModelKind;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    model::BaseModel,
    store::{self, Filter, Position},
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_base_models))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only those of the pool with this name.
    pool: Option<String>,
    /// Only those of this kind.
    kind: Option<BaseModelKind>,
}

/// Lists the checkpoints and base models that workers have, by pool, kind and name. Members see those of the pools that
/// run jobs of their tenant; administrators see all. Models of workers that do not report them are not listed.
#[utoipa::path(
    get, path = "/v1/base-models", operation_id = "list_base_models", tag = "models", params(ListParams),
    responses((status = 200, description = "A page", body = Page<BaseModel>))
)]
async fn list_base_models(
    State(db): State<Db>,
    User(principal): User,
    Query(params): Query<ListParams>,
) -> Result<Json<Page<BaseModel>>, Problem> {
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request::<Position>()?;
    let mut checks = api::Checks::default();
    checks.text("cursor", page.after.as_ref().map(|(_, _, name)| &**name));
    checks.text("pool", params.pool.as_deref());
    checks.finish()?;
    let tenant = match principal.admin {
        true => None,
        false => Some(principal.tenant_as(Role::Viewer)?),
    };
    let filter = Filter { tenant, pool: params.pool, kind: params.kind };
    let mut tx = match tenant {
        Some(tenant) => db.tenant(tenant).await?,
        None => db.admin().await?,
    };
    let models = store::list(&mut tx, &filter, page.after.as_ref(), page.rows()).await?;
    Ok(Json(page.page(models, |model| (model.pool_id, model.kind, model.name.clone()))))
}
