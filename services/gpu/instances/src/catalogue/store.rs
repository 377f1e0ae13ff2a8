//! SQL of the catalogue.

use std::collections::BTreeMap;

use gpu_core::catalogue::{Link, ServiceImage, Template};
use ids::ImageId;
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::{PgConnection, types::Json};

struct Row {
    id: ImageId,
    service: String,
    version: String,
    description: String,
    descriptions: Json<BTreeMap<String, String>>,
    icon_url: Option<String>,
    links: Json<Vec<Link>>,
    template: Json<Template>,
    enabled: bool,
    recommended: bool,
    deprecated: bool,
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
            descriptions: row.descriptions.0,
            icon_url: row.icon_url,
            links: row.links.0,
            template: row.template.0,
            enabled: row.enabled,
            recommended: row.recommended,
            deprecated: row.deprecated,
            generation: row.generation,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// Selects entries. A macro because `query_as!` takes the text of the query only, and the queries name the same columns.
macro_rules! select_images {
    ($tail:tt $(, $parameter:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            "select id, service, version, description, descriptions, icon_url, links, template, enabled, \
             recommended, deprecated, generation, created_at, updated_at from service_images "
                + $tail
            $(, $parameter)*
        )
    };
}

/// Inserts an entry. Returns false if the service has this version.
pub async fn insert(conn: &mut PgConnection, image: &ServiceImage) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into service_images
             (id, service, version, description, descriptions, icon_url, links, template, enabled, recommended,
              generation, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (service, version) do nothing",
        image.id as ImageId,
        image.service,
        image.version,
        image.description,
        Json(&image.descriptions) as _,
        image.icon_url,
        Json(&image.links) as _,
        Json(&image.template) as _,
        image.enabled,
        image.recommended,
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
        "update service_images set description = $3, descriptions = $4, icon_url = $5, links = $6, template = $7,
             enabled = $8, recommended = $9, deprecated = $10, generation = $2::bigint, updated_at = $11
         where id = $1 and generation = $2::bigint - 1",
        image.id as ImageId,
        image.generation,
        image.description,
        Json(&image.descriptions) as _,
        image.icon_url,
        Json(&image.links) as _,
        Json(&image.template) as _,
        image.enabled,
        image.recommended,
        image.deprecated,
        image.updated_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Deletes an entry. Returns false if it does not exist.
pub async fn delete(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<bool> {
    sqlx::query!("delete from service_images where id = $1", id as ImageId)
        .execute(conn)
        .await
        .map(|done| done.rows_affected() == 1)
}

/// Returns an entry, locked until the transaction ends.
pub async fn lock(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<ServiceImage>> {
    let row = select_images!("where id = $1 for update", id as ImageId,);
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Returns an entry.
pub async fn find(conn: &mut PgConnection, id: ImageId) -> sqlx::Result<Option<ServiceImage>> {
    let row = select_images!("where id = $1", id as ImageId,);
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Returns the enabled entry of a service and version; of the recommended version if none is given.
pub async fn find_enabled(
    conn: &mut PgConnection,
    service: &str,
    version: Option<&str>,
) -> sqlx::Result<Option<ServiceImage>> {
    let row = select_images!(
        "where service = $1 and enabled and (version = $2 or ($2::text is null and recommended))",
        service,
        version,
    );
    Ok(row.fetch_optional(conn).await?.map(ServiceImage::from))
}

/// Lets one transaction at a time change which versions are recommended. Precedes the locks of entries.
pub(crate) async fn lock_recommendations(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('recommended versions', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// Ends the recommendation of the service's other versions. Their generations grow.
pub(crate) async fn recommend_only(conn: &mut PgConnection, image: &ServiceImage) -> sqlx::Result<()> {
    sqlx::query!(
        "update service_images set recommended = false, generation = generation + 1, updated_at = $3
         where service = $1 and id <> $2 and recommended",
        image.service,
        image.id as ImageId,
        image.updated_at.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns entries after `after`, by service and version; `all` includes disabled ones.
pub async fn list(
    conn: &mut PgConnection,
    all: bool,
    service: Option<&str>,
    after: Option<(String, String)>,
    limit: i64,
) -> sqlx::Result<Vec<ServiceImage>> {
    let (after_service, after_version) = after.unzip();
    let rows = select_images!(
        "where (enabled or $1) and ($2::text is null or service = $2)
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
