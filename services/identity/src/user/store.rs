//! The table of users.

use ids::UserId;
use sqlx::PgConnection;

use super::model::User;

#[derive(sqlx::FromRow)]
struct Row {
    id: UserId,
    email: String,
    display_name: String,
    admin: bool,
    disabled: bool,
    generation: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl From<Row> for User {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            email: row.email,
            display_name: row.display_name,
            admin: row.admin,
            disabled: row.disabled,
            generation: row.generation,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        }
    }
}

/// The user.
pub(crate) async fn find(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// The user whose password still has this hash, and keeps it to the end of the transaction.
pub(crate) async fn find_with_password(
    conn: &mut PgConnection,
    id: UserId,
    hash: &str,
) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1 and password_hash = $2 for share",
    )
    .bind(id)
    .bind(hash)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// The user, locked to the end of the transaction.
pub(super) async fn lock(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1 for update",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// The user with this address, in whatever case.
pub(crate) async fn find_by_email(conn: &mut PgConnection, email: &str) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where lower(email) = lower($1)",
    )
    .bind(email)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// What signing in needs to know.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct SignIn {
    pub(crate) id: UserId,
    pub(crate) password_hash: String,
}

/// Whose address it is, and the hash of the password.
pub(crate) async fn sign_in(conn: &mut PgConnection, email: &str) -> sqlx::Result<Option<SignIn>> {
    sqlx::query_as("select id, password_hash from users where lower(email) = lower($1)")
        .bind(email)
        .fetch_optional(conn)
        .await
}

/// Users after `after` whose addresses begin with `email_prefix`.
pub(super) async fn list(
    conn: &mut PgConnection,
    after: Option<UserId>,
    email_prefix: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<User>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at from users
         where ($1::uuid is null or id > $1)
           and ($2::text is null or starts_with(lower(email), lower($2)))
         order by id limit $3",
    )
    .bind(after)
    .bind(email_prefix)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Adds a user; none when the address is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    email: &str,
    display_name: &str,
    admin: bool,
    password_hash: &str,
) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "insert into users (id, email, display_name, admin, password_hash) values ($1, $2, $3, $4, $5)
         on conflict (lower(email)) do nothing
         returning id, email, display_name, admin, disabled, generation, created_at, updated_at",
    )
    .bind(UserId::new())
    .bind(email)
    .bind(display_name)
    .bind(admin)
    .bind(password_hash)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// What a change writes; none leaves as it is.
#[derive(Debug, Default)]
pub(super) struct Update<'a> {
    pub(super) display_name: Option<&'a str>,
    pub(super) admin: Option<bool>,
    pub(super) disabled: Option<bool>,
    pub(super) password_hash: Option<&'a str>,
}

/// Changes the user of this generation; none when it has moved on.
pub(super) async fn update(
    conn: &mut PgConnection,
    id: UserId,
    generation: i64,
    update: &Update<'_>,
) -> sqlx::Result<Option<User>> {
    let row: Option<Row> = sqlx::query_as(
        "update users set display_name = coalesce($3, display_name), admin = coalesce($4, admin),
                disabled = coalesce($5, disabled), password_hash = coalesce($6, password_hash),
                generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning id, email, display_name, admin, disabled, generation, created_at, updated_at",
    )
    .bind(id)
    .bind(generation)
    .bind(update.display_name)
    .bind(update.admin)
    .bind(update.disabled)
    .bind(update.password_hash)
    .fetch_optional(conn)
    .await?;
    Ok(row.map(Into::into))
}

/// Removes the user, and with it memberships and sessions.
pub(super) async fn delete(conn: &mut PgConnection, id: UserId) -> sqlx::Result<()> {
    sqlx::query("delete from users where id = $1").bind(id).execute(conn).await.map(drop)
}

/// Whoever makes or unmakes administrators takes this first; held to the end of the transaction.
pub(super) async fn lock_admins(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select pg_advisory_xact_lock(hashtextextended(current_schema() || ' administrators', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// How many administrators can sign in.
pub(super) async fn admins(conn: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from users where admin and not disabled").fetch_one(conn).await
}

/// The hash of the user's password.
pub(super) async fn password_hash(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("select password_hash from users where id = $1").bind(id).fetch_optional(conn).await
}
