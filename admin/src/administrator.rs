//! `administrator`: creates the first administrator, or restores the access of one who cannot sign in.

use atelier_identity::{Administrator, PutAdministrator};
use secrecy::SecretString;

use crate::Config;

/// Creates an administrator with this address and password, for the audit log on behalf of `by`. A user who has the address
/// becomes an administrator with this password, without a second factor, and is signed out everywhere.
///
/// # Errors
/// If the address or the password is not valid, or the database fails.
pub async fn put(
    config: &Config,
    email: &str,
    password: SecretString,
    by: &str,
) -> anyhow::Result<PutAdministrator> {
    let mut conn = config.database.connect(&config.database.superuser()?).await?;
    sqlx::query("select set_config('search_path', $1, false)")
        .bind(atelier_identity::NAME)
        .execute(&mut conn)
        .await?;
    let administrator = Administrator { email: email.to_owned(), password };
    atelier_identity::put_administrator(&mut conn, &administrator, by).await
}
