//! `/v1/instances`: requests record the desired state; the reconciler carries it out.

use api::{
    CountedPage, ETag, Fields, IdempotencyKey, IfMatch, Include, Json, PageParams, Path, Problem,
    ProblemType, Query, Reply, Several, list::Item, openapi::OpenApiRouter, text,
};
use auth::{HasAuth, Member, SubjectToken};
use axum::{
    extract::{FromRef, State},
    response::IntoResponse,
};
use crds::Trust;
use gpu_core::{
    catalogue::Author,
    event::By,
    instance::{Accepted, Command, Instance, InstanceState},
};
use http::StatusCode;
use ids::{InstanceId, OperationId};
use instances::instance::{
    Error, InstanceView,
    list::{Filter, InstanceSort},
    list_store, store,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use usage::{budget, quota};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    change::InstanceChange,
    create::{NewInstance, Owner},
    queue,
};
use crate::isolation;

/// Filters and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only instances in one of these states, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<InstanceState>>)]
    state: Option<Several<InstanceState>>,
    /// Only instances whose name contains this text, ignoring case.
    #[serde(default, deserialize_with = "text::optional_nfc")]
    name: Option<String>,
    /// Order of the list, the same for all its pages: by name or time of creation. A leading `-` reverses it.
    /// `-created_at` if absent.
    #[param(inline)]
    sort: Option<InstanceSort>,
    /// Only these fields of each item, separated by commas; always `id`. All if absent.
    #[param(value_type = Option<String>, example = "name,state")]
    fields: Option<Several<String>>,
    /// Additional data to return: `total` is the number of items on all pages.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<Include>>)]
    include: Option<Several<Include>>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_instances, create_instance))
        .routes(routes!(get_instance, update_instance, delete_instance))
        .routes(routes!(start_instance))
        .routes(routes!(stop_instance))
        .routes(routes!(release_instance_hold))
        .routes(routes!(restart_instance))
}

fn accepted(app: &Parts, instance: &Instance) -> Result<Reply, Problem> {
    let location = format!("/v1/instance-operations/{}", instance.operation.id);
    let view = InstanceView::of(instance, &app.config.apps);
    Ok(Reply::json(StatusCode::ACCEPTED, &view)?.etag(instance.generation).location(location))
}

/// Lists the tenant's instances, newest first unless `sort` says otherwise.
#[utoipa::path(
    get, path = "/v1/instances", operation_id = "list_instances", tag = "instances", params(ListQuery),
    responses((status = 200, description = "A page of instances", body = CountedPage<InstanceView>)),
)]
async fn list_instances(
    State(app): State<Parts>,
    member: Member,
    SubjectToken(subject): SubjectToken,
    Query(query): Query<ListQuery>,
) -> Result<Json<CountedPage<Item<InstanceView>>>, Problem> {
    let sort = query.sort.unwrap_or_default();
    let request = PageParams { limit: query.limit, cursor: query.cursor }.sorted(sort)?;
    let fields = Fields::of::<InstanceView>(query.fields.as_ref())?;
    let states = query.state.as_deref().unwrap_or_default();
    let filter = Filter { tenant: Some(member.tenant), states, name: query.name.as_deref() };
    let mut tx = app.db.tenant(member.tenant).await?;
    let page = list_store::page(&mut tx, &filter, sort, &request).await?;
    let total = if query.include.is_some() { Some(list_store::total(&mut tx, &filter).await?) } else { None };
    drop(tx);
    let mut page = page.map(|instance| InstanceView::of(&instance, &app.config.apps));
    if InstanceView::has_place(&fields) {
        queue::add_places(&app, &subject, &mut page.items).await;
    }
    Ok(Json(CountedPage::new(page.map(|view| fields.select(view)), total)))
}

/// Creates an instance and, unless `start` is false, starts it.
#[utoipa::path(
    post, path = "/v1/instances", operation_id = "create_instance", tag = "instances",
    params(IdempotencyKey),
    request_body(content = NewInstance, example = json!({
        "gpu_spec": "3080-small-4-1", "service": "stable-diffusion-webui", "version": "1.6", "name": "drawing",
        "new_storage": { "name": "pictures", "storage_spec": "ssd", "size_gib": 20 },
    })),
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::TenantSuspended, ProblemType::QuotaExceeded,
        ProblemType::CostLimitExceeded, ProblemType::BudgetExhausted, ProblemType::AllowanceExpired,
        ProblemType::IsolationUnavailable
    ]))),
)]
async fn create_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    SubjectToken(subject): SubjectToken,
    Json(new): Json<NewInstance>,
) -> Result<Reply, Problem> {
    member.writer()?;
    new.check(app.config.idle, Author::User)?;
    // before the transaction; a repeated request gets its stored response whatever these checks return now
    let checked = async {
        let mut references = new.check_references(&app, &subject).await?;
        new.create_storage(&app, &subject, &member, &key, &mut references).await?;
        Ok::<_, Problem>(references)
    };
    let references = checked.await;
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &new.identity(&app.cipher), async |tx| {
        let owner = (&Owner::of(member.tenant), &By::user(member.principal.user));
        let instance = new.insert(tx, owner, &references?, (app.admission(), &app.cipher)).await?;
        let owner = (member.tenant, instance.id);
        keys::insert_new_keys(tx, owner, &member.principal, &new.ssh_keys).await?;
        accepted(&app, &instance)
    })
    .await
}

/// Returns an instance.
#[utoipa::path(
    get, path = "/v1/instances/{id}", operation_id = "get_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id")),
    responses((status = 200, description = "The instance", body = InstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_instance(
    State(app): State<Parts>,
    member: Member,
    SubjectToken(subject): SubjectToken,
    Path(id): Path<InstanceId>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let instance = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let mut view = InstanceView::of(&instance, &app.config.apps);
    queue::add_places(&app, &subject, [&mut view]).await;
    Ok((ETag(instance.generation), Json(view)))
}

/// Changes an instance: its name, `on_node_loss` and `idle_stop` at any time, the other fields only while it is
/// stopped.
#[utoipa::path(
    patch, path = "/v1/instances/{id}", operation_id = "update_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey, IfMatch),
    request_body = InstanceChange,
    responses((status = 200, description = "The changed instance", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InvalidField, ProblemType::InstanceState, ProblemType::TenantSuspended,
        ProblemType::InstanceManaged
    ]))),
)]
async fn update_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    if_match: IfMatch,
    SubjectToken(subject): SubjectToken,
    Path(id): Path<InstanceId>,
    Json(change): Json<InstanceChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    change.check(app.config.idle)?;
    // before the transaction; a repeated request gets its stored response whatever these checks return now
    let references = change.check_references(&app, &subject).await;
    key.once(app.db.tenant(member.tenant).await?, member.tenant, &change.identity(&app.cipher), async |tx| {
        let mut instance = store::lock(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        instance.check_unmanaged().map_err(Error::from)?;
        if_match.check(instance.generation)?;
        change.apply(tx, &member, &mut instance, (references?, &app.cipher), (app.clock)()).await?;
        let view = InstanceView::of(&instance, &app.config.apps);
        Ok(Reply::json(StatusCode::OK, &view)?.etag(instance.generation))
    })
    .await
}

async fn command(
    app: &Parts,
    member: &Member,
    key: &IdempotencyKey,
    id: InstanceId,
    command: Result<Command, Problem>,
    options: &impl Serialize,
    wait: bool,
) -> Result<Reply, Problem> {
    member.writer()?;
    let now = (app.clock)();
    key.once(app.db.tenant(member.tenant).await?, member.tenant, options, async |tx| {
        // a repeated request gets its stored response whatever its checks return now
        let command = command?;
        let mut instance = store::lock(tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
        instance.check_unmanaged().map_err(Error::from)?;
        if matches!(command, Command::Start | Command::Restart) {
            tenants::check_active(tx, member.tenant).await?;
        }
        if matches!(command, Command::StopAndHold(_))
            && instance.state.claim().is_some_and(|claim| claim.hold_price_fraction.is_none())
        {
            return Err(Error::HoldNotOffered.into());
        }
        match instance.command(command, OperationId::new(), now).map_err(Error::from)? {
            Accepted::New(effects) => {
                if wait {
                    instance.wait_in_queue();
                }
                check_limits(app, tx, command, &instance).await?;
                let by = By::user(member.principal.user);
                if !store::command(tx, &mut instance, &effects, &by).await? {
                    return Err(Error::LockedRowChanged.into());
                }
            }
            Accepted::InProgress => {}
        }
        accepted(app, &instance)
    })
    .await
}

/// Checks a command that adds to what the tenant uses or spends.
async fn check_limits(
    app: &Parts,
    tx: &mut PgConnection,
    command: Command,
    instance: &Instance,
) -> Result<(), Problem> {
    let refused = match command {
        Command::Start => {
            if instance.order.has_own_image() {
                quota::check_own_images(tx, instance.tenant).await?;
                instance.check_pull_credential().map_err(Error::from)?;
            }
            if instance.order.trust() == Trust::Tenant {
                isolation::check(&app.clusters, instance.order.datacenter_name.as_deref())?;
            }
            if let Some(exceeded) = quota::check(tx, instance, false).await? {
                return Err(quota::problem(exceeded));
            }
            app.admission().check_start(tx, instance).await?
        }
        Command::StopAndHold(_) => app.admission().check_hold(tx, instance).await?,
        Command::Stop | Command::ReleaseHold | Command::Restart | Command::Delete => None,
    };
    refused.map_or(Ok(()), |refused| Err(budget::problem(refused)))
}

/// A command without options.
const NO_OPTIONS: Option<()> = None;

/// Options of a start.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StartQuery {
    /// Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once.
    #[serde(default)]
    #[param(default = false)]
    wait: bool,
}

/// Starts a stopped instance.
#[utoipa::path(
    post, path = "/v1/instances/{id}/start", operation_id = "start_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey, StartQuery),
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceState, ProblemType::TenantSuspended,
        ProblemType::QuotaExceeded, ProblemType::CostLimitExceeded, ProblemType::BudgetExhausted,
        ProblemType::AllowanceExpired, ProblemType::InstanceManaged, ProblemType::IsolationUnavailable,
        ProblemType::RegistryCredentialMissing
    ]))),
)]
async fn start_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    Query(query): Query<StartQuery>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Ok(Command::Start), &query.wait.then_some(&query), query.wait).await
}

/// How an instance is stopped.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopOptions {
    /// Keeps the unit for a part of the price, so that the next start needs no free unit. The unit is released if absent.
    #[serde(default)]
    hold: Option<HoldRequest>,
}

/// How long a stopped instance keeps its unit. Exactly one of both fields is required.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HoldRequest {
    /// Seconds from now, up to the configured maximum (a week by default).
    #[serde(default)]
    #[schema(minimum = 1)]
    for_seconds: Option<i64>,
    /// A time.
    #[serde(default)]
    until: Option<Timestamp>,
}

impl HoldRequest {
    /// Returns the end of the hold, in whole seconds.
    fn end(&self, now: Timestamp, max_seconds: u32) -> Result<Timestamp, Problem> {
        let (pointer, seconds) = match (self.for_seconds, self.until) {
            (Some(seconds), None) => ("/hold/for_seconds", seconds),
            (None, Some(until)) => ("/hold/until", until.as_second().saturating_sub(now.as_second())),
            _ => return Err(Problem::invalid_field("/hold", "must have `for_seconds` or `until`, not both")),
        };
        if !(1..=i64::from(max_seconds)).contains(&seconds) {
            let detail = format!("must be 1 to {max_seconds} seconds from now");
            return Err(Problem::invalid_field(pointer, detail));
        }
        Timestamp::from_second(now.as_second().saturating_add(seconds))
            .map_err(|_| Problem::invalid_field(pointer, "is too late"))
    }
}

/// Stops an instance. It keeps its storage and its URL, and with a hold its unit.
#[utoipa::path(
    post, path = "/v1/instances/{id}/stop", operation_id = "stop_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    request_body = Option<StopOptions>,
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceState, ProblemType::HoldNotOffered, ProblemType::InvalidField,
        ProblemType::BudgetExhausted, ProblemType::AllowanceExpired, ProblemType::InstanceManaged
    ]))),
)]
async fn stop_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
    options: Option<Json<StopOptions>>,
) -> Result<Reply, Problem> {
    let options = options.map(|Json(options)| options);
    let hold = options.as_ref().and_then(|options| options.hold.as_ref());
    let (now, max_seconds) = ((app.clock)(), app.config.holds.max_seconds);
    let stop = match hold {
        Some(hold) => hold.end(now, max_seconds).map(Command::StopAndHold),
        None => Ok(Command::Stop),
    };
    command(&app, &member, &key, id, stop, &options, false).await
}

/// Ends the hold of an instance that is stopped or stopping.
#[utoipa::path(
    delete, path = "/v1/instances/{id}/hold", operation_id = "release_instance_hold", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InstanceManaged]))),
)]
async fn release_instance_hold(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Ok(Command::ReleaseHold), &NO_OPTIONS, false).await
}

/// Restarts a running instance in its unit.
#[utoipa::path(
    post, path = "/v1/instances/{id}/restart", operation_id = "restart_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::InstanceState, ProblemType::TenantSuspended, ProblemType::InstanceManaged
    ]))),
)]
async fn restart_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Ok(Command::Restart), &NO_OPTIONS, false).await
}

/// Deletes an instance. It is stopped first; its storage stays.
#[utoipa::path(
    delete, path = "/v1/instances/{id}", operation_id = "delete_instance", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), IdempotencyKey),
    responses((status = 202, description = "Accepted. The operation reports the progress.", body = InstanceView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InstanceManaged]))),
)]
async fn delete_instance(
    State(app): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Path(id): Path<InstanceId>,
) -> Result<Reply, Problem> {
    command(&app, &member, &key, id, Ok(Command::Delete), &NO_OPTIONS, false).await
}
