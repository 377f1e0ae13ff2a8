//! SQL of the catalogue.

use ids::ImageId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};

use super::Template;

/// An entry.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) id: ImageId,
    pub(crate) service: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) template: Template,
    pub(crate) enabled: bool,
    pub(crate) generation: i64,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: ImageId,
    service: String,
    version: String,
    description: String,
    template: Json<Template>,
    enabled: bool,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for Image {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            service: row.service,
            version: row.version,
            description: row.description,
            template: row.template.0,
            enabled: row.enabled,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// Inserts an entry. False when the service has this version already.
pub(crate) async fn insert(conn: &mut PgConnection, image: &Image) -> sqlx::Result<bool> {
    sqlx::query(
        "insert into service_images
             (id, service, version, description, template, enabled, generation, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (service, version) do nothing",
    )
    .bind(image.id)
    .bind(&image.service)
    .bind(&image.version)
    .bind(&image.description)
    .bind(Json(&image.template))
    .bind(image.enabled)
    .bind(image.generation)
    .bind(image.created_at.to_sqlx())
    .bind(image.updated_at.to_sqlx())
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Writes a changed entry whose generation was one less before. False when it has changed meanwhile.
pub(crate) async fn update(conn: &mut PgConnection, image: &Image) -> sqlx::Result<bool> {
    sqlx::query(
        "update service_images set description = $3, template = $4, enabled = $5, generation = $2,
             updated_at = $6
         where id = $1 and generation = $2 - 1",
    )
    .bind(image.id)
    .bind(image.generation)
    .bind(&image.description)
    .bind(Json(&image.template))
    .bind(image.enabled)
    .bind(image.updated_at.to_sqlx())
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes an entry. False when there is none.
pub(crate) async fn delete(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<bool> {
    sqlx::query("delete from service_images where id = $1")
        .bind(id)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// The entry, locked for a change until the transaction ends.
pub(crate) async fn lock(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<Image>> {
    sqlx::query_as::<_, Row>("select * from service_images where id = $1 for update")
        .bind(id)
        .fetch_optional(conn)
        .await
        .map(|row| row.map(Image::from))
}

/// The entry.
pub(crate) async fn find(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<Image>> {
    sqlx::query_as::<_, Row>("select * from service_images where id = $1")
        .bind(id)
        .fetch_optional(conn)
        .await
        .map(|row| row.map(Image::from))
}

/// The enabled entry of a service and version.
pub(crate) async fn offered(
    conn: &mut PgConnection,
    service: &str,
    version: &str,
) -> sqlx::Result<Option<Image>> {
    sqlx::query_as::<_, Row>("select * from service_images where service = $1 and version = $2 and enabled")
        .bind(service)
        .bind(version)
        .fetch_optional(conn)
        .await
        .map(|row| row.map(Image::from))
}

/// A page of entries by service and version; disabled ones too if `all`.
pub(crate) async fn list(
    conn: &mut PgConnection,
    all: bool,
    service: Option<&str>,
    after: Option<(String, String)>,
    limit: i64,
) -> sqlx::Result<Vec<Image>> {
    let (after_service, after_version) = after.unzip();
    sqlx::query_as::<_, Row>(
        "select * from service_images
         where (enabled or $1) and ($2::text is null or service = $2)
           and ($3::text is null or (service, version) > ($3, $4))
         order by service, version limit $5",
    )
    .bind(all)
    .bind(service)
    .bind(after_service)
    .bind(after_version)
    .bind(limit)
    .fetch_all(conn)
    .await
    .map(|rows| rows.into_iter().map(Image::from).collect())
}
