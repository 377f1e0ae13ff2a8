//! The user of a person who signed in with a provider, and their session.

use api::{Problem, audit};
use axum::http::StatusCode;
use base64::{Engine, engine::general_purpose::STANDARD};
use ids::UserId;
use people::{
    access::Holder,
    membership, scope,
    session::{Client, NewSession, Opened, open},
    tenant::{self, TenantState},
    user,
};
use sqlx::PgConnection;

use super::{Error, ProviderSignIn, store};
use crate::{
    password::Hasher,
    provider::{Person, Provider},
};

/// Opens a session of the person, for whom a user is created or linked if the provider's configuration allows it.
///
/// # Errors
/// If the person has no user, or one that is disabled.
pub(super) async fn sign_in(
    parts: &ProviderSignIn,
    provider: &Provider,
    person: &Person,
    client: &Client,
    request: &audit::Request,
) -> Result<Opened, Problem> {
    let mut tx = parts.sessions.db.platform().await?;
    if !person.has(&provider.config.required_claims) {
        return Err(Error::NoAccount.into());
    }
    let issuer = &person.issuer;
    let id = match store::find(&mut tx, issuer, &person.subject).await? {
        Some(id) => id,
        None => {
            let id = first_sign_in(&parts.hasher, &mut tx, provider, person).await?;
            if store::put(&mut tx, issuer, &person.subject, id).await? != id {
                return Err(Error::AccountTaken.into());
            }
            tracing::info!(user.id = %id, provider = provider.config.id, "account linked");
            id
        }
    };
    scope::user(&mut tx, id).await?;
    let holder = Holder::find(&mut tx, id).await?.ok_or(Error::NoAccount)?;
    add_memberships(&mut tx, provider, person, id).await?;
    parts.throttle.remember_network(&mut tx, client.address, &holder.user.email).await?;
    let new = NewSession { tenant: None, cookie: true, client };
    let opened = open(&mut tx, &parts.sessions, holder, &new).await?;
    opened.record(&mut tx, request, StatusCode::SEE_OTHER).await?;
    tx.commit().await?;
    Ok(opened)
}

/// Returns the user for the person at the first sign-in.
async fn first_sign_in(
    hasher: &Hasher,
    tx: &mut PgConnection,
    provider: &Provider,
    person: &Person,
) -> Result<UserId, Problem> {
    // an unverified address does not prove whose account it is
    let email = &api::email::canonical(person.email.as_deref().ok_or(Error::NoAccount)?);
    user::check_email("/email", email)?;
    if let Some(account) = user::find_account(tx, email).await? {
        // if the provider is wrong, whoever receives mail at the address could take over the account
        return if provider.config.link_verified_email {
            Ok(account.id)
        } else {
            Err(user::Error::EmailTaken.into())
        };
    }
    if !provider.config.just_in_time {
        return Err(Error::NoAccount.into());
    }
    let name = person.name.as_deref().filter(|name| tenant::check_name("/name", name).is_ok());
    // a random password that is not stored; an administrator can set one
    let mut password = [0; 32];
    aws_lc_rs::rand::fill(&mut password).map_err(Problem::internal)?;
    let hash = hasher.permit().await?.hash(STANDARD.encode(password).into()).await?;
    let name = name.unwrap_or_else(|| user::default_display_name(email));
    Ok(user::insert(tx, email, name, false, &hash, false).await?.ok_or(user::Error::EmailTaken)?.id)
}

/// Adds the memberships of the provider's rules that the user does not have. Existing roles stay, and removed
/// members are not added again.
async fn add_memberships(
    tx: &mut PgConnection,
    provider: &Provider,
    person: &Person,
    user: UserId,
) -> Result<(), Problem> {
    for (id, role) in person.memberships(&provider.config.memberships) {
        let found = tenant::lock_shared(tx, id).await?.filter(|tenant| tenant.state == TenantState::Active);
        if found.is_none() {
            tracing::warn!(tenant.id = %id, provider = provider.config.id, "no active tenant of a membership rule");
            continue;
        }
        scope::tenant(tx, id).await?;
        if membership::was_removed(tx, id, user).await? {
            continue;
        }
        if membership::insert(tx, id, user, role).await? {
            membership::delete_invitation(tx, id, user).await?;
        }
    }
    Ok(())
}
