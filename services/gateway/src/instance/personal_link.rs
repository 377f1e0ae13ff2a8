//! Share links for one person, at the platform's address: `/share?host=<label>&link=<secret>`. Only there,
//! the browser sends the session cookie of the person. The gpu service recognizes the user, and its ticket
//! leads back to the host of the instance.
//!
//! A link for another person, for everyone or for an instance that does not exist gets the same response as no link.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use secrecy::SecretString;
use url::Url;

use super::{
    gpu_unavailable,
    page::{Notice, Reader},
    query::parameter,
};
use crate::{
    connection_info::ConnectionInfo,
    credentials::{self, Credentials},
    limits::RateLimits,
    refusal::Refusal,
};

const PATH: &str = "/share";

/// The route of the platform's address.
pub(crate) fn routes(links: PersonalLinks) -> Router {
    Router::new().route(PATH, get(open)).with_state(Arc::new(links))
}

/// Sends the browser to the platform's address with a link.
pub(super) fn at(public_url: &Url, label: &str, secret: &str) -> Response {
    let mut url = public_url.clone();
    url.set_path(PATH);
    url.query_pairs_mut().append_pair("host", label).append_pair("link", secret);
    redirect(url.as_str())
}

fn redirect(url: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(url) else {
        return Refusal::internal("a URL that is no header value").into_response();
    };
    let headers = [
        (header::LOCATION, location),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Opens links for one person.
pub(crate) struct PersonalLinks {
    pub(crate) gpu: gpu_api::Client,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) rate_limits: Arc<RateLimits>,
    pub(crate) public_url: Url,
}

async fn open(State(links): State<Arc<PersonalLinks>>, request: Request) -> Response {
    links.open(request).await.unwrap_or_else(IntoResponse::into_response)
}

impl PersonalLinks {
    async fn open(&self, mut request: Request) -> Result<Response, Refusal> {
        let connection = request.extensions_mut().remove::<ConnectionInfo>().ok_or_else(Refusal::no_host)?;
        let (mut parts, _) = request.into_parts();
        let reader = Reader::of(&parts.headers);
        let notice = |notice: Notice| notice.response(reader, &self.public_url);
        self.rate_limits.check_sign_in(connection.peer).await?;
        match self.credentials.exchange(connection.peer, &mut parts).await {
            Ok(()) => {}
            Err(credentials::Error::Unauthenticated(problem))
                if problem.status == StatusCode::UNAUTHORIZED =>
            {
                return Ok(notice(Notice::SignIn));
            }
            Err(error) => return Err(error.into()),
        }
        let Some(subject) = bearer(&parts.headers) else { return Ok(notice(Notice::SignIn)) };
        let (Some(host_label), Some(secret)) = (parameter(&parts, "host"), parameter(&parts, "link")) else {
            return Ok(notice(Notice::NoLink));
        };
        match self.gpu.link_ticket(&gpu_api::OpenLinkRequest { secret, host_label }, &subject).await {
            Ok(ticket) => Ok(redirect(&ticket.url)),
            Err(peer::Error::Problem(problem)) if problem.status == 401 => Ok(notice(Notice::SignIn)),
            Err(peer::Error::Problem(problem)) if problem.status < 500 => Ok(notice(Notice::NoLink)),
            Err(error) => Err(gpu_unavailable(error)),
        }
    }
}

/// The access token of a request.
fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().into())
}
