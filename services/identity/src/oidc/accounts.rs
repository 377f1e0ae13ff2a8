//! The caller's linked accounts over HTTP.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, audit,
    openapi::OpenApiRouter,
};
use auth::{Person, User};
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use ids::LinkedAccountId;
use utoipa_axum::routes;

use super::{
    attempt::SignInAttempt,
    issuer,
    link::{self, LinkIntent},
    model::{AccountLink, LinkedAccount, NewAccountLink, is_own_path},
    store,
};
use crate::{authority, session, state::AppState};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_linked_accounts, start_account_link))
        .routes(routes!(delete_linked_account))
}

/// Lists the accounts of OpenID providers with which the caller can sign in.
#[utoipa::path(
    get, path = "/v1/me/linked-accounts", operation_id = "list_linked_accounts", tag = "linked accounts",
    params(PageParams),
    responses((status = 200, description = "One page", body = Page<LinkedAccount>)),
)]
async fn list_linked_accounts(
    State(state): State<AppState>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<LinkedAccount>>, Problem> {
    let asked = page.request()?;
    let mut tx = state.db.user(principal.user).await?;
    let rows = store::list(&mut tx, principal.user, asked.after, asked.rows()).await?;
    let account = |row: store::Account| LinkedAccount {
        id: row.id,
        provider: state
            .oidc
            .iter()
            .find(|it| issuer::has_accounts_of(it, &row.issuer))
            .map(|it| it.id.clone()),
        issuer: row.issuer,
        subject: row.subject,
        created_at: row.created_at,
        last_used_at: row.last_used_at,
    };
    Ok(Json(asked.page(rows.into_iter().map(account).collect(), |account| account.id)))
}

/// Begins to link an account of a provider to the caller's user, for browsers: send the browser to the `url` of the response,
/// within ten minutes. The provider sends it back to `redeem_sign_in`, which links the account with which the person has
/// signed in there, if the caller's session has not ended meanwhile. Stores nothing, and needs no `Idempotency-Key`; the
/// response sets a cookie. The person has to have signed in within the last minutes; API keys link no accounts.
#[utoipa::path(
    post, path = "/v1/me/linked-accounts", operation_id = "start_account_link", tag = "linked accounts",
    request_body = NewAccountLink,
    responses((status = 200, description = "Where to send the browser", body = AccountLink)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired]))),
)]
async fn start_account_link(
    State(state): State<AppState>,
    person: Person,
    request: audit::Request,
    Json(new): Json<NewAccountLink>,
) -> Result<(HeaderMap, Json<AccountLink>), Problem> {
    let provider = state.oidc.find(&new.provider);
    let provider = provider.ok_or_else(|| Problem::invalid_field("/provider", "is not a provider"))?;
    let return_to = new.return_to.as_deref().unwrap_or("/");
    if !is_own_path(return_to) {
        return Err(Problem::invalid_field("/return_to", "must be a path of this platform"));
    }
    let mut attempt = SignInAttempt::begin(&provider.config.id, return_to, state.now())?;
    attempt.link = Some(LinkIntent::of(&person));
    let url = provider.authorization_url(&attempt).await;
    let url = url.map_err(|error| Problem::unavailable("The sign-in provider", error))?;
    let mut tx = state.db.user(person.principal.user).await?;
    authority::signed_in_recently(&state, &mut tx, &person).await?;
    request.record(&mut tx, StatusCode::OK, None, &new).await?;
    tx.commit().await?;
    let mut headers = session::not_stored();
    headers.insert(header::SET_COOKIE, attempt.cookie(&state.cipher, state.oidc.is_secure())?);
    Ok((headers, Json(AccountLink { url: url.into() })))
}

/// Removes an account from the caller's user: it no longer signs in. 409 if the caller could not sign in at all without it.
#[utoipa::path(
    delete, path = "/v1/me/linked-accounts/{id}", operation_id = "delete_linked_account", tag = "linked accounts",
    params(("id" = LinkedAccountId, Path, description = "Linked account id"), IdempotencyKey),
    responses((status = 204, description = "Removed")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::LastSignInMethod]))),
)]
async fn delete_linked_account(
    State(state): State<AppState>,
    person: Person,
    Path(id): Path<LinkedAccountId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let user = person.principal.user;
    key.once(state.db.user(user).await?, user, &(), async |tx| {
        link::unlink(&state, tx, &person, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
