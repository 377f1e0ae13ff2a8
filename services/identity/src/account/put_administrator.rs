//! An administrator from the operators' program: the first one of a platform, or one who can no longer sign in.

use anyhow::Context;
use api::audit;
use axum::http::StatusCode;
use ids::UserId;
use people::{
    session::{self, EndReason},
    user::{check_email, default_display_name, store},
};
use secrecy::SecretString;
use serde_json::json;
use sign_in::{
    password::{self, Hasher},
    totp,
};
use sqlx::{Connection, PgConnection};

use crate::OPERATORS_PROGRAM as PROGRAM;

/// The administrator to create.
#[derive(Debug)]
pub struct Administrator {
    /// E-mail address to sign in with.
    pub email: String,
    /// Password.
    pub password: SecretString,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutAdministrator {
    /// There was no user with the address.
    Created,
    /// The user has this password now and no second factor, and was signed out everywhere.
    Reset,
}

/// Makes a user an administrator with this password, and records it in the platform's audit log. For an
/// administrator of the database, with this service's schema as the search path. `by` is the person who runs
/// the program.
///
/// # Errors
/// If the address or the password is not valid, or the database fails.
pub async fn put_administrator(
    conn: &mut PgConnection,
    administrator: &Administrator,
    by: &str,
) -> anyhow::Result<PutAdministrator> {
    let Administrator { email, password } = administrator;
    let email = &api::email::canonical(email);
    check_email("/email", email)?;
    password::check("/password", password, email)?;
    let hash = Hasher::new(1)?.permit().await?.hash(password.clone()).await?;
    let mut tx = conn.begin().await?;
    store::lock_admins(&mut tx).await?;
    let name = default_display_name(email);
    if let Some(user) = store::insert(&mut tx, email, name, true, &hash, true).await? {
        record(&mut tx, user.id, PutAdministrator::Created, by).await?;
        tx.commit().await?;
        return Ok(PutAdministrator::Created);
    }
    let account = store::find_account(&mut tx, email).await?.context("the user was deleted meanwhile")?;
    let user = store::lock(&mut tx, account.id).await?.context("the user was deleted meanwhile")?;
    let update = store::Update {
        admin: Some(true),
        disabled: Some(false),
        password_hash: Some(&hash),
        ..store::Update::default()
    };
    store::update(&mut tx, user.id, user.generation, &update).await?;
    totp::forget(&mut tx, user.id).await?;
    session::end_all(&mut tx, user.id, None, EndReason::PasswordChanged).await?;
    record(&mut tx, user.id, PutAdministrator::Reset, by).await?;
    tx.commit().await?;
    Ok(PutAdministrator::Reset)
}

async fn record(conn: &mut PgConnection, user: UserId, done: PutAdministrator, by: &str) -> sqlx::Result<()> {
    let path = format!("/v1/users/{user}");
    let created = (done == PutAdministrator::Created).then_some(path.as_str());
    let status = if created.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    audit::Request::of_program(PROGRAM, "administrator", path.clone(), Some(by))
        .record(conn, status, created, &json!({ "email": "", "password": "", "admin": true }))
        .await
}
