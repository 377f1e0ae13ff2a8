//! The queue as seen by this service: places of waiting instances, quotes, and the grants that wake
//! instances.

use std::{collections::HashMap, time::Duration};

use api::{ErrorChain, Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{HasAuth, Member, SubjectToken};
use axum::extract::{FromRef, State};
use backon::{BackoffBuilder, ExponentialBuilder};
use crds::Trust;
use db::Db;
use gpu_core::{catalogue::Author, claim::hold_price, instance::Order, reason::ReasonCode};
use ids::InstanceId;
use instances::instance::{
    GpuSpecRef, InstanceView,
    store::{self, QUEUE},
};
use rust_decimal::Decimal;
use secrecy::SecretString;
use serde::Serialize;
use service::{Duty, Task};
use stock_api::{Alternative, Estimate};
use tokio::time::{sleep, timeout};
use usage::quota;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Parts,
    create::{NewInstance, Owner},
    references::References,
};
use crate::isolation;

/// How long a response waits for the places of instances. They are marked as unknown after that.
const PLACES_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a request for grants waits, in seconds: less than the limit of a call.
const WAIT_SECONDS: u32 = 8;
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(quote_instance))
}

/// Adds their places in the queue to instances that wait, by one call with the user's access token `subject`.
/// If the stock service does not answer, they are marked as unknown.
pub(super) async fn add_places<'a>(
    app: &Parts,
    subject: &SecretString,
    views: impl IntoIterator<Item = &'a mut InstanceView>,
) {
    let mut waiting: Vec<&mut InstanceView> =
        views.into_iter().filter(|view| view.queued().is_some()).collect();
    if waiting.is_empty() {
        return;
    }
    let ids: Vec<InstanceId> = waiting.iter().filter_map(|view| view.queued()).collect();
    let entries = match timeout(PLACES_TIMEOUT, app.stock.queue_entries(&ids, Some(subject))).await {
        Ok(Ok(entries)) => entries.items,
        Ok(Err(error)) => return tracing::warn!(error = %ErrorChain(&error), "cannot read the queue"),
        Err(_) => return tracing::warn!("cannot read the queue in time"),
    };
    let mut places: HashMap<InstanceId, _> =
        entries.into_iter().map(|entry| (entry.instance_id, entry)).collect();
    for view in &mut waiting {
        if let Some(id) = view.queued() {
            view.set_place(places.remove(&id));
        }
    }
}

/// Returns the place of an instance that waits, for the gateway's page about it. None if the stock service does not answer.
pub async fn place(stock: &stock_api::Client, instance: InstanceId) -> Option<stock_api::QueueEntry> {
    match timeout(PLACES_TIMEOUT, stock.queue_entries(&[instance], None)).await {
        Ok(Ok(entries)) => entries.items.into_iter().next(),
        Ok(Err(error)) => {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the queue");
            None
        }
        Err(_) => {
            tracing::warn!("cannot read the queue in time");
            None
        }
    }
}

/// What an instance would cost, and when it would start.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Quote {
    /// GPU specification.
    gpu_spec: GpuSpecRef,
    /// Current price per hour.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// Currency (ISO 4217).
    currency: String,
    /// Price per hour of keeping the unit while the instance is stopped; null if that is not offered.
    #[schema(value_type = Option<String>)]
    hold_price_per_hour: Option<Decimal>,
    /// Whether a unit is free now, and the tenant's limits and budget allow it. Nothing is reserved: another instance may take it.
    starts_now: bool,
    /// Free units.
    available: i64,
    /// Machine-readable reason why it would not start now, or null.
    reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    message: Option<String>,
    /// Instances that wait for such a unit.
    waiting: i64,
    /// When it would start if it waited; null if it starts now, or too few units were released recently.
    estimate: Option<Estimate>,
    /// What would start now instead; empty if it starts now.
    alternatives: Vec<Alternative>,
}

/// Returns the price of an instance, and whether it would start now. Takes the same body as the creation, and stores
/// nothing.
#[utoipa::path(
    post, path = "/v1/instances/quote", operation_id = "quote_instance", tag = "instances",
    request_body(content = NewInstance, example = json!({
        "gpu_spec": "3080-small-4-1", "service": "stable-diffusion-webui", "version": "1.6", "name": "drawing",
        "new_storage": { "name": "pictures", "storage_spec": "ssd", "size_gib": 20 },
    })),
    responses((status = 200, description = "The quote", body = Quote)),
    extensions(("x-problems" = json!([ProblemType::InvalidField, ProblemType::TenantSuspended]))),
)]
async fn quote_instance(
    State(app): State<Parts>,
    member: Member,
    SubjectToken(subject): SubjectToken,
    Json(new): Json<NewInstance>,
) -> Result<Json<Quote>, Problem> {
    new.check(app.config.idle, Author::User)?;
    let references = new.check_references(&app, &subject).await?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let found = new.check_catalogue(&mut tx, member.tenant, None).await?;
    let instance = new.instance(&Owner::of(member.tenant), &references, found, (app.clock)());
    let exceeded = quota::quote(&mut tx, &instance, true).await?;
    let refused = app.admission().quote(&mut tx, &instance).await?;
    drop(tx);
    let not_isolated = references.not_isolated.as_ref().filter(|_| instance.order.trust() == Trust::Tenant);
    let not_isolated = not_isolated.map(|why| (ReasonCode::RuntimeUnavailable, why.message.clone()));
    let References { spec, .. } = references;
    let quote = quote(&app, &instance.order, &subject).await;
    let quote = quote.map_err(|cause| cause.into_problem("The stock service"))?;
    let limited = exceeded
        .map(|exceeded| (ReasonCode::QuotaExceeded, exceeded.to_string()))
        .or_else(|| refused.map(|refused| (refused.reason(), refused.to_string())))
        .or(not_isolated);
    let why_not = match limited {
        Some(limited) => Some(limited),
        None if quote.draining => {
            let message = "The datacenter is draining: its units cannot be claimed.";
            Some((ReasonCode::StockExhausted, message.to_owned()))
        }
        None if quote.available == 0 => {
            Some((ReasonCode::StockExhausted, format!("No unit of {} is free.", spec.name)))
        }
        None => None,
    };
    let starts_now = why_not.is_none();
    let (reason, message) = why_not.unzip();
    Ok(Json(Quote {
        gpu_spec: GpuSpecRef { id: spec.id, name: spec.name },
        price_per_hour: spec.price_per_hour,
        hold_price_per_hour: spec.hold_price_fraction.map(|part| hold_price(spec.price_per_hour, part)),
        currency: spec.currency,
        starts_now,
        available: quote.available,
        reason,
        message,
        waiting: quote.waiting,
        estimate: quote.estimate,
        alternatives: quote.alternatives,
    }))
}

/// The quote of the first datacenter that has a free unit for the order, or of the first of all.
async fn quote(app: &Parts, order: &Order, subject: &SecretString) -> Result<stock_api::Quote, peer::Error> {
    let mut places = isolation::places(&app.clusters, &app.stock, order).await?.into_iter();
    let is_free = |quote: &stock_api::Quote| quote.available > 0 && !quote.draining;
    let mut quote = app.stock.quote(order.gpu_spec_id, places.next().flatten(), subject).await?;
    for place in places {
        if is_free(&quote) {
            break;
        }
        let other = app.stock.quote(order.gpu_spec_id, place, subject).await?;
        if is_free(&other) {
            quote = other;
        }
    }
    Ok(quote)
}

/// The task that reconciles the instances that have been given a unit. All replicas follow the feed; the first one to store the
/// cursor wakes them.
pub fn task(db: &Db, stock: &stock_api::Client) -> Task {
    Task::new("grants", Duty::Follow, &(db.clone(), stock.clone()), |(db, stock)| async move {
        follow(&db, &stock).await;
        Ok(())
    })
}

fn delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(MIN_DELAY)
        .with_max_delay(MAX_DELAY)
        .with_jitter()
        .without_max_times()
        .build()
}

async fn follow(db: &Db, stock: &stock_api::Client) {
    let mut delays = self::delays();
    let mut position = Position::default();
    loop {
        match step(db, stock, &mut position).await {
            Ok(()) => delays = self::delays(),
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot follow the grants; retrying");
                position = Position::default();
                sleep(delays.next().unwrap_or(MAX_DELAY)).await;
            }
        }
    }
}

/// Where a replica is in the feed.
#[derive(Debug, Default)]
struct Position {
    /// The stored cursor, once it is read.
    stored: Option<String>,
    /// The cursor of the next request. Without grants in between it is not stored.
    next: String,
}

async fn step(db: &Db, stock: &stock_api::Client, position: &mut Position) -> anyhow::Result<()> {
    let stored = match &position.stored {
        Some(stored) => stored.clone(),
        None => {
            let mut tx = db.worker().await?;
            let stored = store::grants_cursor(&mut tx).await?;
            tx.commit().await?;
            position.next.clone_from(&stored);
            position.stored = Some(stored.clone());
            stored
        }
    };
    let grants = match stock.queue_grants(&position.next, WAIT_SECONDS).await {
        // the cursor is from before the stock database was restored
        Err(peer::Error::Problem(problem)) if problem.is(ProblemType::InvalidField) => {
            position.next.clear();
            stock.queue_grants("", 0).await?
        }
        answer => answer?,
    };
    if grants.items.is_empty() {
        position.next = grants.next_cursor;
        return Ok(());
    }
    let instances: Vec<InstanceId> = grants.items.iter().map(|item| item.change.instance_id).collect();
    let mut tx = db.worker().await?;
    if store::advance_grants_cursor(&mut tx, &stored, &grants.next_cursor).await? {
        QUEUE.enqueue(&mut tx, &instances).await?;
        tx.commit().await?;
        position.next.clone_from(&grants.next_cursor);
        position.stored = Some(grants.next_cursor);
    } else {
        // another replica was first
        position.stored = None;
    }
    Ok(())
}
