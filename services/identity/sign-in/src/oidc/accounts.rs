//! The caller's linked accounts over HTTP.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, audit,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Person, User};
use axum::{
    extract::{FromRef, State},
    http::{HeaderMap, StatusCode, header},
};
use db::Db;
use ids::LinkedAccountId;
use people::{authority::RecentSignIn, session};
use utoipa_axum::routes;

use super::{
    ProviderSignIn, link,
    model::{AccountLink, LinkedAccount, NewAccountLink, is_own_path},
    store,
};
use crate::{
    provider::{self, LinkIntent, SignInAttempt},
    sign_in_method::SignInMethods,
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    ProviderSignIn: FromRef<S>,
    RecentSignIn: FromRef<S>,
    SignInMethods: FromRef<S>,
{
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
    State(parts): State<ProviderSignIn>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<LinkedAccount>>, Problem> {
    let asked = page.request()?;
    let mut tx = parts.sessions.db.user(principal.user).await?;
    let rows = store::list(&mut tx, principal.user, asked.after, asked.rows()).await?;
    let account = |row: store::Account| LinkedAccount {
        id: row.id,
        provider: parts
            .providers
            .iter()
            .find(|it| provider::has_accounts_of(it, &row.issuer))
            .map(|it| it.id.clone()),
        issuer: row.issuer,
        subject: row.subject,
        created_at: row.created_at,
        last_used_at: row.last_used_at,
    };
    Ok(Json(asked.page(rows.into_iter().map(account).collect(), |account| account.id)))
}

/// Begins to link an account of a provider to the caller's user, for browsers: redirect the browser to the `url` of the
/// response within ten minutes. The provider redirects it back to `redeem_sign_in`, which links the account that was
/// used there, unless the caller's session has ended. Stores nothing, and needs no `Idempotency-Key`; the response sets
/// a cookie. Requires a sign-in within the last minutes. API keys cannot link accounts.
#[utoipa::path(
    post, path = "/v1/me/linked-accounts", operation_id = "start_account_link", tag = "linked accounts",
    request_body = NewAccountLink,
    responses((status = 200, description = "Where to send the browser", body = AccountLink)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired]))),
)]
async fn start_account_link(
    State(parts): State<ProviderSignIn>,
    State(recent): State<RecentSignIn>,
    person: Person,
    request: audit::Request,
    Json(new): Json<NewAccountLink>,
) -> Result<(HeaderMap, Json<AccountLink>), Problem> {
    let provider = parts.providers.find(&new.provider);
    let provider = provider.ok_or_else(|| Problem::invalid_field("/provider", "is not a provider"))?;
    let return_to = new.return_to.as_deref().unwrap_or("/");
    if !is_own_path(return_to) {
        return Err(Problem::invalid_field("/return_to", "must be a path of this platform"));
    }
    let mut attempt = SignInAttempt::begin(&provider.config.id, return_to, parts.sessions.clock.now())?;
    attempt.link = Some(LinkIntent::of(&person));
    let url = provider.authorization_url(&attempt).await;
    let url = url.map_err(|error| Problem::unavailable("The sign-in provider", error))?;
    let mut tx = parts.sessions.db.user(person.principal.user).await?;
    recent.require(&mut tx, &person).await?;
    request.record(&mut tx, StatusCode::OK, None, &new).await?;
    tx.commit().await?;
    let mut headers = session::not_stored();
    headers.insert(header::SET_COOKIE, attempt.cookie(&parts.sessions.cipher, parts.providers.is_secure())?);
    Ok((headers, Json(AccountLink { url: url.into() })))
}

/// Removes an account from the caller's user, which can no longer sign in with it. 409 if it is the only way for the
/// caller to sign in.
#[utoipa::path(
    delete, path = "/v1/me/linked-accounts/{id}", operation_id = "delete_linked_account", tag = "linked accounts",
    params(("id" = LinkedAccountId, Path, description = "Linked account id"), IdempotencyKey),
    responses((status = 204, description = "Removed")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::LastSignInMethod]))),
)]
async fn delete_linked_account(
    State(db): State<Db>,
    State(methods): State<SignInMethods>,
    State(recent): State<RecentSignIn>,
    person: Person,
    Path(id): Path<LinkedAccountId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let user = person.principal.user;
    key.once(db.user(user).await?, user, &(), async |tx| {
        link::unlink(&methods, recent, tx, &person, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
