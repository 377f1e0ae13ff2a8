//! Users change their own passwords.

use api::{IdempotencyKey, Problem, Reply};
use auth::Person;
use encryption::Cipher;
use ids::UserId;
use people::{
    client_address::ClientAddress,
    session::{self, EndReason},
    user::{self, store},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use sign_in::password;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::{Accounts, changes};

/// A new password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PasswordChange {
    /// The current password.
    #[schema(value_type = String, format = Password)]
    current_password: SecretString,
    /// The new password: at least 8 characters, at most 256 bytes.
    #[schema(value_type = String, format = Password)]
    new_password: SecretString,
}

impl PasswordChange {
    /// The content that identifies a repeated request, with fingerprints instead of the passwords.
    fn identity(&self, cipher: &Cipher) -> Value {
        json!([
            cipher.fingerprint(self.current_password.expose_secret()),
            cipher.fingerprint(self.new_password.expose_secret())
        ])
    }
}

/// Changes the caller's password and ends all sessions of the caller except that of the request. Attempts at
/// the current password are limited like sign-ins.
pub(super) async fn change_password(
    accounts: &Accounts,
    key: &IdempotencyKey,
    caller: &Person,
    client: ClientAddress,
    change: &PasswordChange,
) -> Result<Reply, Problem> {
    let mut tx = accounts.db.platform().await?;
    let user = store::find(&mut tx, caller.principal.user).await?.ok_or(user::Error::Deleted)?;
    let stored = store::password_hash(&mut tx, user.id).await?;
    tx.commit().await?;
    password::check("/new_password", &change.new_password, &user.email)?;

    // the permit comes first, so that concurrent attempts cannot pass the lock together
    let permit = accounts.hasher.permit().await?;
    let attempt = accounts.throttle.begin_signed_in(client, &user.email).await?;
    let right = permit.verify(change.current_password.clone(), stored.clone()).await?;
    let hash = match right {
        true => Some(accounts.hasher.permit().await?.hash(change.new_password.clone()).await?),
        false => None,
    };
    let reply = key
        .once(accounts.db.platform().await?, user.id, &change.identity(&accounts.cipher), async |tx| {
            let hash = hash.as_deref().ok_or_else(wrong_password)?;
            replace(tx, user.id, stored.as_deref(), hash).await?;
            session::end_all(tx, user.id, Some(caller.session), EndReason::PasswordChanged).await?;
            Ok(Reply::no_content())
        })
        .await;
    // a repeated request finds the new password in place and gets the stored response: it is not a failed
    // attempt
    if right {
        attempt.succeeded().await?;
    } else if reply.is_err() {
        attempt.failed().await?;
    }
    reply
}

/// Replaces the password, unless it has changed since its hash was read.
async fn replace(
    tx: &mut PgConnection,
    id: UserId,
    expected: Option<&str>,
    hash: &str,
) -> Result<(), Problem> {
    let user = store::lock(tx, id).await?.ok_or(user::Error::Deleted)?;
    if store::password_hash(tx, id).await?.as_deref() != expected {
        return Err(wrong_password());
    }
    let update = store::Update { password_hash: Some(hash), ..store::Update::default() };
    changes::replace(tx, &user, &update).await.map(drop)
}

fn wrong_password() -> Problem {
    Problem::invalid_field("/current_password", "is not your password")
}
