//! The table of users.

use ids::UserId;
use sqlx::PgConnection;

use super::model::{Language, User};

/// Returns the user.
pub async fn find(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<User>> {
    sqlx::query_as!(
        User,
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1",
        id as UserId,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the user, who does not change until the transaction ends.
pub async fn lock_shared(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<User>> {
    sqlx::query_as!(
        User,
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1 for share",
        id as UserId,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the user, locked until the transaction ends.
pub async fn lock(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<User>> {
    sqlx::query_as!(
        User,
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at
         from users where id = $1 for update",
        id as UserId,
    )
    .fetch_optional(conn)
    .await
}

/// The fields of a user that sign-in needs.
#[derive(Debug)]
pub struct Account {
    pub id: UserId,
    pub password_hash: String,
}

/// Returns the account with this e-mail address, ignoring case.
pub async fn find_account(conn: &mut PgConnection, email: &str) -> sqlx::Result<Option<Account>> {
    sqlx::query_as!(Account, "select id, password_hash from users where lower(email) = lower($1)", email)
        .fetch_optional(conn)
        .await
}

/// Returns users after `after` whose e-mail addresses begin with `email_prefix`.
pub async fn list(
    conn: &mut PgConnection,
    after: Option<UserId>,
    email_prefix: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<User>> {
    sqlx::query_as!(
        User,
        "select id, email, display_name, admin, disabled, generation, created_at, updated_at from users
         where ($1::uuid is null or id > $1)
           and ($2::text is null or starts_with(lower(email), lower($2)))
         order by id limit $3",
        after as Option<UserId>,
        email_prefix,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Adds a user. `has_password` says whether the user knows the password. Returns none if the e-mail address is in use.
pub async fn insert(
    conn: &mut PgConnection,
    email: &str,
    display_name: &str,
    admin: bool,
    password_hash: &str,
    has_password: bool,
) -> sqlx::Result<Option<User>> {
    sqlx::query_as!(
        User,
        "insert into users (id, email, display_name, admin, password_hash, has_password)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (lower(email)) do nothing
         returning id, email, display_name, admin, disabled, generation, created_at, updated_at",
        UserId::new() as UserId,
        email,
        display_name,
        admin,
        password_hash,
        has_password,
    )
    .fetch_optional(conn)
    .await
}

/// New values of a user's columns. None leaves the column unchanged.
#[derive(Debug, Default)]
pub struct Update<'a> {
    pub display_name: Option<&'a str>,
    pub admin: Option<bool>,
    pub disabled: Option<bool>,
    pub password_hash: Option<&'a str>,
}

/// Changes the user of this generation. Returns none if the user has changed since.
pub async fn update(
    conn: &mut PgConnection,
    id: UserId,
    generation: i64,
    update: &Update<'_>,
) -> sqlx::Result<Option<User>> {
    sqlx::query_as!(
        User,
        "update users set display_name = coalesce($3, display_name), admin = coalesce($4, admin),
                disabled = coalesce($5, disabled), password_hash = coalesce($6, password_hash),
                has_password = has_password or $6::text is not null,
                generation = generation + 1, updated_at = now()
         where id = $1 and generation = $2
         returning id, email, display_name, admin, disabled, generation, created_at, updated_at",
        id as UserId,
        generation,
        update.display_name,
        update.admin,
        update.disabled,
        update.password_hash,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the language that the user has chosen.
pub async fn language(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<Language>> {
    let found = sqlx::query_scalar!(
        "select language as \"language: Language\" from users where id = $1",
        id as UserId,
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.flatten())
}

/// Changes what users change of themselves. None leaves the column unchanged. The user must be locked.
pub async fn update_own(
    conn: &mut PgConnection,
    id: UserId,
    display_name: Option<&str>,
    language: Option<Language>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update users set display_name = coalesce($2, display_name), language = coalesce($3, language),
                generation = generation + 1, updated_at = now()
         where id = $1",
        id as UserId,
        display_name,
        language as Option<Language>,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the user with memberships and sessions.
pub async fn delete(conn: &mut PgConnection, id: UserId) -> sqlx::Result<()> {
    sqlx::query!("delete from users where id = $1", id as UserId).execute(conn).await.map(drop)
}

/// Serializes transactions that change who is an administrator. Held until the transaction ends.
pub async fn lock_admins(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended(current_schema() || ' administrators', 0))")
        .execute(conn)
        .await
        .map(drop)
}

/// Returns the number of administrators who can sign in.
pub async fn count_admins(conn: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar!("select count(*) as \"count!\" from users where admin and not disabled")
        .fetch_one(conn)
        .await
}

/// Returns the hash of the user's password.
pub async fn password_hash(conn: &mut PgConnection, id: UserId) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!("select password_hash from users where id = $1", id as UserId)
        .fetch_optional(conn)
        .await
}
