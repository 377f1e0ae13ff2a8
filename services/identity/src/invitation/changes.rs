//! Sending, withdrawing, accepting and declining invitations, each within the transaction of its request.

use api::Problem;
use auth::Principal;
use ids::{InvitationId, TenantId};
use jiff::Timestamp;
use people::{
    access, authority,
    membership::{self, Membership},
    tenant::{self, TenantState},
};
use sqlx::PgConnection;

use super::{
    Error,
    model::{Invitation, LIFETIME, MAX_OPEN, NewInvitation},
    store,
};
use crate::api_key;

/// Invites the address, or renews its invitation. Whether the address has an account makes no difference, except for
/// members, whom the caller sees anyway.
pub(super) async fn invite(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
    new: &NewInvitation,
    now: Timestamp,
) -> Result<Invitation, Problem> {
    authority::manager(tx, caller, tenant).await?;
    authority::owner_by_person(caller, &[new.role])?;
    if membership::has_member_with_email(tx, tenant, &new.email).await? {
        return Err(membership::Error::AlreadyAMember.into());
    }
    store::delete_expired_of_tenant(tx, tenant, now).await?;
    if let Some(open) = store::find_by_email(tx, tenant, &new.email).await? {
        authority::owner_by_person(caller, &[open.role])?;
        // it would end with the key, and grant the role that the key gives it
        if !open.is_of_key && caller.api_key.is_some() {
            return Err(Error::ByPerson.into());
        }
    }
    let key_ends = match caller.api_key {
        Some(key) => api_key::expiry(tx, key).await?,
        None => None,
    };
    let expires_at = key_ends.map_or(now + LIFETIME, |end| end.min(now + LIFETIME));
    let invitation = store::put(tx, tenant, caller, new, expires_at).await?;
    if store::count(tx, tenant, now).await? > MAX_OPEN {
        return Err(Error::TooMany { limit: MAX_OPEN }.into());
    }
    Ok(invitation)
}

pub(super) async fn withdraw(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
    id: InvitationId,
    now: Timestamp,
) -> Result<(), Problem> {
    authority::manager(tx, caller, tenant).await?;
    let role = store::withdraw(tx, tenant, id, now).await?.ok_or_else(Problem::not_found)?;
    authority::owner_by_person(caller, &[role])
}

/// Makes the caller a member of the inviting tenant, which must be active. The inviter must still be able to manage it.
pub(super) async fn accept(
    tx: &mut PgConnection,
    caller: &Principal,
    id: InvitationId,
    now: Timestamp,
) -> Result<Membership, Problem> {
    authority::signed_in(tx, caller).await?;
    let offer = store::offer(tx, caller.user, id, now).await?.ok_or_else(Problem::not_found)?;
    if !authority::lock_if_managed_by(tx, offer.invited_by, offer.tenant_id).await? {
        return Err(Problem::not_found());
    }
    // read again: with the tenant locked, the invitation cannot be renewed
    let role = store::take(tx, caller.user, id, offer, now).await?.ok_or_else(Problem::not_found)?;
    authority::owner_by_person(caller, &[role])?;
    let found = tenant::find(tx, offer.tenant_id).await?.ok_or_else(Problem::not_found)?;
    if found.state == TenantState::Suspended {
        return Err(access::NoAccess::TenantSuspended.into());
    }
    if !membership::insert(tx, found.id, caller.user, role).await? {
        return Err(membership::Error::AlreadyAMember.into());
    }
    membership::forget_removal(tx, found.id, caller.user).await?;
    membership::of_user(tx, caller.user)
        .await?
        .into_iter()
        .find(|membership| membership.tenant.id == found.id)
        .ok_or_else(|| Problem::internal("a new membership is not visible to its user"))
}

pub(super) async fn decline(
    tx: &mut PgConnection,
    caller: &Principal,
    id: InvitationId,
    now: Timestamp,
) -> Result<(), Problem> {
    authority::signed_in(tx, caller).await?;
    let role = store::decline(tx, caller.user, id, now).await?.ok_or_else(Problem::not_found)?;
    authority::owner_by_person(caller, &[role])
}
