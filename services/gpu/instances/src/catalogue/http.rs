//! `/v1/services`: every signed-in user reads, administrators write.

use std::collections::BTreeMap;

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    response::IntoResponse,
};
use gpu_core::catalogue::{Link, NewServiceImage, Reader, ServiceImage, ServiceImageChange, Template};
use http::StatusCode;
use ids::ImageId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{Parts, store};

/// A version of a service.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ServiceImage)]
pub(crate) struct ServiceImageView {
    /// Entry id.
    id: ImageId,
    /// Service, for example `stable-diffusion-webui`.
    service: String,
    /// Version, for example `1.6`.
    version: String,
    /// Description for people.
    description: String,
    /// Descriptions in other languages, by language tag (BCP 47).
    descriptions: BTreeMap<String, String>,
    /// Address of an icon.
    icon_url: Option<String>,
    /// Pages about the service.
    links: Vec<Link>,
    /// How the service is run. Only administrators see the values of its environment variables.
    template: Template,
    /// Whether users see it.
    enabled: bool,
    /// Whether new instances use it unless they name a version. At most one version of a service is recommended.
    recommended: bool,
    /// Whether new instances cannot use it any longer. Existing instances start as before.
    deprecated: bool,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
}

impl ServiceImageView {
    fn of(image: ServiceImage, reader: Reader) -> Self {
        let mut template = image.template;
        if !reader.sees_values() {
            template.env.iter_mut().for_each(|variable| variable.value.clear());
        }
        Self {
            id: image.id,
            service: image.service,
            version: image.version,
            description: image.description,
            descriptions: image.descriptions,
            icon_url: image.icon_url,
            links: image.links,
            template,
            enabled: image.enabled,
            recommended: image.recommended,
            deprecated: image.deprecated,
            created_at: image.created_at,
            updated_at: image.updated_at,
        }
    }
}

/// Filter and page of the list.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only versions of this service.
    service: Option<String>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_services, create_service)).routes(routes!(
        get_service,
        update_service,
        delete_service
    ))
}

/// Returns the cached answer for all users, or that of `read`. Administrators see more, and their own changes, so their
/// answers are not cached.
async fn remembered<T: Serialize + DeserializeOwned>(
    app: &Parts,
    reader: Reader,
    question: &impl Serialize,
    read: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    match reader {
        Reader::Administrator => read.await,
        Reader::User => app.reads.read(question, read).await,
    }
}

/// Carries out a change, and invalidates the cached answers.
async fn changing(
    app: &Parts,
    change: impl Future<Output = Result<Reply, Problem>>,
) -> Result<Reply, Problem> {
    let reply = change.await?;
    app.reads.changed().await;
    Ok(reply)
}

fn reply(status: StatusCode, image: ServiceImage) -> Result<Reply, Problem> {
    let generation = image.generation;
    Ok(Reply::json(status, &ServiceImageView::of(image, Reader::Administrator))?.etag(generation))
}

/// Lists the catalogue by service and version. Administrators see disabled entries.
#[utoipa::path(
    get, path = "/v1/services", operation_id = "list_services", tag = "services", params(ListQuery),
    responses((status = 200, description = "A page of the catalogue", body = Page<ServiceImageView>)),
)]
async fn list_services(
    State(app): State<Parts>,
    User(user): User,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<ServiceImageView>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor.clone() }.request()?;
    let reader = Reader::new(user.admin);
    let read = async {
        let mut tx = app.db.platform().await?;
        let (service, after) = (query.service.as_deref(), request.after.clone());
        let rows = store::list(&mut tx, reader.sees_disabled(), service, after, request.rows()).await?;
        let page = request.page(rows, |image| (image.service.clone(), image.version.clone()));
        Ok::<_, Problem>(page.map(|image| ServiceImageView::of(image, reader)))
    };
    Ok(Json(remembered(&app, reader, &("services", &query), read).await?))
}

/// Returns an entry of the catalogue.
#[utoipa::path(
    get, path = "/v1/services/{id}", operation_id = "get_service", tag = "services",
    params(("id" = ImageId, Path, description = "Entry id")),
    responses((status = 200, description = "The entry", body = ServiceImageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_service(
    State(app): State<Parts>,
    User(user): User,
    Path(id): Path<ImageId>,
) -> Result<impl IntoResponse, Problem> {
    let reader = Reader::new(user.admin);
    let read = async {
        let mut tx = app.db.platform().await?;
        let image = store::find(&mut tx, id).await?.filter(|image| image.enabled || reader.sees_disabled());
        let image = image.ok_or_else(Problem::not_found)?;
        Ok::<_, Problem>((image.generation, ServiceImageView::of(image, reader)))
    };
    let (generation, image) = remembered(&app, reader, &("service", id), read).await?;
    Ok((ETag(generation), Json(image)))
}

/// Adds a version of a service. Administrators only.
#[utoipa::path(
    post, path = "/v1/services", operation_id = "create_service", tag = "services",
    params(IdempotencyKey),
    request_body = NewServiceImage,
    responses((status = 201, description = "The entry", body = ServiceImageView)),
    extensions(("x-problems" = json!([ProblemType::ServiceVersionExists]))),
)]
async fn create_service(
    State(app): State<Parts>,
    _: Admin,
    key: IdempotencyKey,
    Json(new): Json<NewServiceImage>,
) -> Result<Reply, Problem> {
    new.check()?;
    let created = key.once(app.db.platform().await?, "admin", &new, async |tx| {
        let image = new.to_image((app.clock)());
        if image.recommended {
            store::lock_recommendations(tx).await?;
            store::recommend_only(tx, &image).await?;
        }
        if !store::insert(tx, &image).await? {
            return Err(Problem::new(
                ProblemType::ServiceVersionExists,
                "The catalogue already has this version of the service.",
            ));
        }
        let location = format!("/v1/services/{}", image.id);
        Ok(reply(StatusCode::CREATED, image)?.location(location))
    });
    changing(&app, created).await
}

/// Changes an entry. Existing instances keep their template. Administrators only.
#[utoipa::path(
    patch, path = "/v1/services/{id}", operation_id = "update_service", tag = "services",
    params(("id" = ImageId, Path, description = "Entry id"), IdempotencyKey, IfMatch),
    request_body = ServiceImageChange,
    responses((status = 200, description = "The changed entry", body = ServiceImageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::InvalidField]))),
)]
async fn update_service(
    State(app): State<Parts>,
    _: Admin,
    key: IdempotencyKey,
    if_match: IfMatch,
    Path(id): Path<ImageId>,
    Json(change): Json<ServiceImageChange>,
) -> Result<Reply, Problem> {
    change.check()?;
    let updated = key.once(app.db.platform().await?, "admin", &change, async |tx| {
        let is_recommended = change.recommended == Some(true);
        if is_recommended {
            store::lock_recommendations(tx).await?;
        }
        let mut image = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(image.generation)?;
        change.clone().apply(&mut image, (app.clock)())?;
        if is_recommended {
            store::recommend_only(tx, &image).await?;
        }
        if !store::update(tx, &image).await? {
            return Err(Problem::internal("a locked row has changed"));
        }
        reply(StatusCode::OK, image)
    });
    changing(&app, updated).await
}

/// Deletes an entry. Existing instances keep their template. Administrators only.
#[utoipa::path(
    delete, path = "/v1/services/{id}", operation_id = "delete_service", tag = "services",
    params(("id" = ImageId, Path, description = "Entry id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_service(
    State(app): State<Parts>,
    _: Admin,
    key: IdempotencyKey,
    Path(id): Path<ImageId>,
) -> Result<Reply, Problem> {
    let deleted = key.once(app.db.platform().await?, "admin", &(), async |tx| {
        if store::delete(tx, id).await? { Ok(Reply::no_content()) } else { Err(Problem::not_found()) }
    });
    changing(&app, deleted).await
}
