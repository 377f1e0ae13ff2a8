//! `/v1/services`: everyone signed in reads, administrators write.

use api::{IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, Query, Reply};
use auth::{Admin, User};
use axum::{extract::State, response::IntoResponse};
use http::StatusCode;
use ids::ImageId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Template, model,
    store::{self, Image},
};
use crate::{app::AppState, error::Error};

/// A version of a service that users can pick.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServiceImage {
    /// Its id.
    id: ImageId,
    /// Service (`stable-diffusion-webui`).
    service: String,
    /// Version (`1.6`).
    version: String,
    /// What it is, for people.
    description: String,
    /// How it is run. Values of its environment are shown to administrators only.
    template: Template,
    /// Whether new instances can be made of it.
    enabled: bool,
    /// When it was added.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

impl ServiceImage {
    fn of(image: Image, admin: bool) -> Self {
        let mut template = image.template;
        if !admin {
            template.env.iter_mut().for_each(|variable| variable.value.clear());
        }
        Self {
            id: image.id,
            service: image.service,
            version: image.version,
            description: image.description,
            template,
            enabled: image.enabled,
            created_at: image.created_at,
            updated_at: image.updated_at,
        }
    }
}

/// A new version of a service.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewServiceImage {
    /// Service: 1 to 63 lower-case letters, digits, `-`, `.` and `_`.
    service: String,
    /// Version, of the same letters.
    version: String,
    /// What it is, for people; at most 1,000 characters.
    #[serde(default)]
    description: String,
    /// How it is run.
    template: Template,
    /// Whether new instances can be made of it (default true).
    #[serde(default = "yes")]
    enabled: bool,
}

fn yes() -> bool {
    true
}

/// A change; what is absent stays.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceImageChange {
    /// What it is, for people.
    #[serde(default)]
    description: Option<String>,
    /// How it is run, as a whole. Instances that exist keep theirs.
    #[serde(default)]
    template: Option<Template>,
    /// Whether new instances can be made of it.
    #[serde(default)]
    enabled: Option<bool>,
}

/// Which entries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only of this service.
    service: Option<String>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_services, create_service)).routes(routes!(
        get_service,
        update_service,
        delete_service
    ))
}

/// Lists the catalogue, by service and version. Administrators see disabled entries too.
#[utoipa::path(get, path = "/v1/services", tag = "services", operation_id = "list_services",
    params(ListQuery),
    responses((status = 200, description = "A page of the catalogue", body = Page<ServiceImage>),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn list_services(
    State(app): State<AppState>,
    User(user): User,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ServiceImage>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let mut tx = app.db.platform().await?;
    let rows =
        store::list(&mut tx, user.admin, query.service.as_deref(), asked.after.clone(), asked.rows()).await?;
    let page = asked.page(rows, |image| (image.service.clone(), image.version.clone()));
    Ok(Json(page.map(|image| ServiceImage::of(image, user.admin))))
}

/// Reads an entry of the catalogue.
#[utoipa::path(get, path = "/v1/services/{id}", tag = "services", operation_id = "get_service",
    params(("id" = ImageId, Path)),
    responses((status = 200, description = "The entry", body = ServiceImage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn get_service(
    State(app): State<AppState>,
    User(user): User,
    Path(id): Path<ImageId>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = app.db.platform().await?;
    let image = store::find(&mut tx, id).await?.filter(|image| image.enabled || user.admin);
    let image = image.ok_or_else(Problem::not_found)?;
    Ok((api::ETag(image.generation), Json(ServiceImage::of(image, user.admin))))
}

fn check(description: &str, template: Option<&Template>, names: &[(&str, &str)]) -> Result<(), Problem> {
    let mut errors: Vec<_> =
        names.iter().filter_map(|(pointer, name)| model::check_name(pointer, name)).collect();
    if description.chars().count() > 1000 {
        errors.push(api::FieldError {
            pointer: "/description".to_owned(),
            detail: "at most 1000 characters".to_owned(),
        });
    }
    errors.extend(template.map(Template::check).unwrap_or_default());
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

/// Adds a version of a service.
#[utoipa::path(post, path = "/v1/services", tag = "services", operation_id = "create_service",
    params(("Idempotency-Key" = String, Header, description = "One for each write")),
    request_body = NewServiceImage,
    responses((status = 201, description = "Added", body = ServiceImage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn create_service(
    State(app): State<AppState>,
    _: Admin,
    key: IdempotencyKey,
    Json(new): Json<NewServiceImage>,
) -> Result<Reply, Problem> {
    check(&new.description, Some(&new.template), &[("/service", &new.service), ("/version", &new.version)])?;
    key.once(app.db.platform().await?, "admin", &new, async |tx| {
        let now = Timestamp::now();
        let image = Image {
            id: ImageId::new(),
            service: new.service.clone(),
            version: new.version.clone(),
            description: new.description.clone(),
            template: new.template.clone(),
            enabled: new.enabled,
            generation: 1,
            created_at: now,
            updated_at: now,
        };
        if !store::insert(tx, &image).await? {
            return Err(Error::ImageExists.into());
        }
        let location = format!("/v1/services/{}", image.id);
        Ok(Reply::json(StatusCode::CREATED, &ServiceImage::of(image, true))?.etag(1).location(location))
    })
    .await
}

/// Changes an entry. Instances that exist keep what they were made of.
#[utoipa::path(patch, path = "/v1/services/{id}", tag = "services", operation_id = "update_service",
    params(("id" = ImageId, Path), ("Idempotency-Key" = String, Header, description = "One for each write"),
        ("If-Match" = String, Header, description = "The ETag of what is changed")),
    request_body = ServiceImageChange,
    responses((status = 200, description = "Changed", body = ServiceImage),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn update_service(
    State(app): State<AppState>,
    _: Admin,
    key: IdempotencyKey,
    seen: IfMatch,
    Path(id): Path<ImageId>,
    Json(change): Json<ServiceImageChange>,
) -> Result<Reply, Problem> {
    check(change.description.as_deref().unwrap_or_default(), change.template.as_ref(), &[])?;
    key.once(app.db.platform().await?, "admin", &change, async |tx| {
        let mut image = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        seen.check(image.generation)?;
        image.description = change.description.clone().unwrap_or(image.description);
        image.template = change.template.clone().unwrap_or(image.template);
        image.enabled = change.enabled.unwrap_or(image.enabled);
        image.generation += 1;
        image.updated_at = Timestamp::now();
        if !store::update(tx, &image).await? {
            return Err(Problem::internal("a locked row changed"));
        }
        let generation = image.generation;
        Ok(Reply::json(StatusCode::OK, &ServiceImage::of(image, true))?.etag(generation))
    })
    .await
}

/// Removes an entry. Instances that exist keep what they were made of.
#[utoipa::path(delete, path = "/v1/services/{id}", tag = "services", operation_id = "delete_service",
    params(("id" = ImageId, Path), ("Idempotency-Key" = String, Header, description = "One for each write")),
    responses((status = 204, description = "Removed"),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn delete_service(
    State(app): State<AppState>,
    _: Admin,
    key: IdempotencyKey,
    Path(id): Path<ImageId>,
) -> Result<Reply, Problem> {
    key.once(app.db.platform().await?, "admin", &(), async |tx| {
        if store::delete(tx, id).await? { Ok(Reply::no_content()) } else { Err(Problem::not_found()) }
    })
    .await
}
