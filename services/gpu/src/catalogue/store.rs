//! SQL of the catalogue.

use ids::ImageId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};

use super::{ServiceImage, Template};

struct Row {
    id: ImageId,
    service: String,
    version: String,
    description: String,
    template: Json<Template>,
    enabled: bool,
    generation: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Row> for ServiceImage {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            service: row.service,
            version: row.version,
            description: row.description,
            template: row.template.0,
            enabled: row.enabled,
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Inserts an entry. Returns false if the service has this version.
pub(crate) async fn insert(conn: &mut PgConnection, image: &ServiceImage) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into service_images
             (id, service, version, description, template, enabled, generation, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (service, version) do nothing",
        image.id as ImageId,
        image.service,
        image.version,
        image.description,
        Json(&image.template) as _,
        image.enabled,
        image.generation,
        image.created_at.to_sqlx() as _,
        image.updated_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Writes a changed entry. Returns false unless the stored generation is one less.
pub(crate) async fn update(conn: &mut PgConnection, image: &ServiceImage) -> sqlx::Result<bool> {
    sqlx::query!(
        "update service_images set description = $3, template = $4, enabled = $5, generation = $2::bigint,
             updated_at = $6
         where id = $1 and generation = $2::bigint - 1",
        image.id as ImageId,
        image.generation,
        image.description,
        Json(&image.template) as _,
        image.enabled,
        image.updated_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes an entry. Returns false if it does not exist.
pub(crate) async fn delete(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<bool> {
    sqlx::query!("delete from service_images where id = $1", id as ImageId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns an entry, locked until the transaction ends.
pub(crate) async fn lock(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<ServiceImage>> {
    let row = sqlx::query_as!(
        Row,
        "select id, service, version, description, template, enabled, generation, created_at, updated_at
         from service_images where id = $1 for update",
        id as ImageId,
    );
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Returns an entry.
pub(crate) async fn find(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<ServiceImage>> {
    let row = sqlx::query_as!(
        Row,
        "select id, service, version, description, template, enabled, generation, created_at, updated_at
         from service_images where id = $1",
        id as ImageId,
    );
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Returns the enabled entry of a service and version.
pub(crate) async fn find_enabled(
    conn: &mut PgConnection,
    service: &str,
    version: &str,
) -> sqlx::Result<Option<ServiceImage>> {
    let row = sqlx::query_as!(
        Row,
        "select id, service, version, description, template, enabled, generation, created_at, updated_at
         from service_images where service = $1 and version = $2 and enabled",
        service,
        version,
    );
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Returns entries after `after`, by service and version; `all` includes disabled ones.
pub(crate) async fn list(
    conn: &mut PgConnection,
    all: bool,
    service: Option<&str>,
    after: Option<(String, String)>,
    limit: i64,
) -> sqlx::Result<Vec<ServiceImage>> {
    let (after_service, after_version) = after.unzip();
    let rows = sqlx::query_as!(
        Row,
        "select id, service, version, description, template, enabled, generation, created_at, updated_at
         from service_images
         where (enabled or $1) and ($2::text is null or service = $2)
           and ($3::text is null or (service, version) > ($3, $4))
         order by service, version limit $5",
        all,
        service,
        after_service,
        after_version,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(ServiceImage::from).collect())
}
