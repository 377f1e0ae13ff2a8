//! Traffic of instances: `inst-<hex>.<apps domain>`, and `p<port>-inst-<hex>.<apps domain>` of their public ports.
//!
//! A user opens an instance with a ticket (`POST /v1/instances/{id}/tickets` returns its URL). The browser
//! sends the ticket to the instance's own host name, where it is exchanged, once, for a session cookie of
//! that host. The cookie is a token signed by the gateway for one instance, tenant and user. A request
//! without one, with one for another instance, or for an instance that does not exist gets the same response,
//! before any other service is asked. A request that only previews the address of a ticket does not redeem it
//! (`intent`).
//!
//! A public port has a cookie of its own, unless its user has opened it to everyone: for such host names the
//! gpu service is called first, and the response is the same if there is no such instance or port.
//!
//! **Cookies of siblings.** Pages of another instance belong to its user, and could try to set our cookie for the
//! domain above both (`Domain=<apps domain>`):
//! - with `https`, the name's prefix `__Host-` makes browsers refuse any `Domain`;
//! - under `localhost`, browsers refuse `Domain=localhost`, a name without a dot;
//! - of several cookies with our name any valid one counts, and a cookie for another instance is not valid;
//! - the gateway removes `Domain` from the cookies that instances set, and drops cookies with our name.
//!
//! **Requests of other pages.** Browsers may treat siblings as one site, and then send the cookie with
//! requests of another instance's page. A request that changes something or opens a WebSocket must therefore
//! come from the instance's own pages if it has an `Origin`. The instance decides what others may read
//! (CORS), as for any page.
//!
//! A share link is exchanged for a cookie in the same way, any number of times while it is valid. A link for
//! one person goes through the platform's address, where the person is signed in (`personal_link`).
//!
//! A cookie is valid for eight hours, or until the rights or the share link with which the instance was opened end.
//! Each request checks that the instance still exists and belongs to the tenant. Open connections are closed when the
//! rights or the link end, and when the instance stops or moves.

mod activity;
mod cookie;
mod forward;
mod intent;
mod metrics;
mod page;
mod personal_link;
mod query;
mod queue_place;
mod routes;
mod session;

use std::{sync::Arc, time::Duration};

use ::activity::Tracker;
use auth::{Refused, Verifier};
use axum::{
    extract::Request,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use gpu_api::HostLabel;
use ids::TenantId;
use service::Metrics;
use tokio::net::TcpStream;
use url::Url;

pub use self::cookie::CookieKey;
pub(crate) use self::{
    activity::Reporter,
    personal_link::{PersonalLinks, routes as personal_links},
};
use crate::{
    concurrency::Concurrency, connection_info::ConnectionInfo, limits::RateLimits, proxy::Proxy,
    refusal::Refusal,
};
use cookie::{Cookies, Session};
pub(crate) use metrics::InstanceMetrics;
use metrics::Outcome;
use page::{Notice, Reader};
use routes::OpenRoute;
pub(crate) use routes::Routes;

/// Paths of the gateway itself on an instance's host.
const RESERVED: &str = "/.atelier/";
/// Where a ticket is exchanged for a cookie.
const SESSION_PATH: &str = "/.atelier/session";
/// Where a share link is exchanged for a cookie.
const SHARE_PATH: &str = "/.atelier/share";
/// The state that the gateway's pages poll.
const STATUS_PATH: &str = "/.atelier/status";

/// Time for an instance to accept a connection when its status is requested.
const CONNECT: Duration = Duration::from_secs(1);

/// What instance traffic shares with other slices.
pub(crate) struct Parts {
    pub(crate) verifier: Verifier,
    pub(crate) rate_limits: Arc<RateLimits>,
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) gpu: gpu_api::Client,
    pub(crate) routes: Routes,
    /// The instances with connections through this replica.
    pub(crate) activity: Tracker,
    pub(crate) public_url: Url,
    /// Issuer of the platform's tokens, which instances do not see.
    pub(crate) issuer: String,
}

/// Serves the host names of instances.
pub(crate) struct Instances {
    parts: Parts,
    cookies: Cookies,
    metrics: InstanceMetrics,
    under_way: Concurrency<TenantId>,
}

/// A request that may be forwarded.
struct Admitted {
    route: Arc<OpenRoute>,
    /// The session of the user; none for a port that is open to everyone.
    session: Option<Session>,
}

impl Instances {
    /// A tenant may have `requests_at_a_time` requests and WebSockets open.
    ///
    /// # Errors
    /// If no cookie key is configured, or one is not valid.
    pub(crate) fn new(
        parts: Parts,
        cookie_keys: &[CookieKey],
        requests_at_a_time: usize,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let cookies = Cookies::new(cookie_keys, parts.public_url.scheme() == "https")?;
        let under_way = Concurrency::new(requests_at_a_time);
        Ok(Self { cookies, metrics: InstanceMetrics::register(metrics), under_way, parts })
    }

    /// Answers a request to the host name with this first label.
    pub(crate) async fn handle(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: Request,
    ) -> Response {
        let path = request.uri().path();
        let response = if path == SESSION_PATH {
            let (parts, _) = request.into_parts();
            self.open_session(label, connection, &parts).await
        } else if path == SHARE_PATH {
            let (parts, _) = request.into_parts();
            self.open_shared(label, connection, &parts).await
        } else if path == STATUS_PATH {
            Ok(self.status(label, connection, request.headers()).await)
        } else if path.starts_with(RESERVED) {
            Err(Refusal::no_such_route())
        } else {
            self.authorize_and_forward(label, connection, request).await
        };
        response.unwrap_or_else(IntoResponse::into_response)
    }

    async fn authorize_and_forward(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: Request,
    ) -> Result<Response, Refusal> {
        let Some(host) = HostLabel::parse(label) else {
            return Ok(self.notice(Notice::NotOpened, request.headers()));
        };
        let admitted = match self.admit(host, label, connection, request.headers()).await {
            Ok(admitted) => admitted,
            Err(refused) => return Ok(refused),
        };
        let Admitted { route, session } = admitted;
        let reader = Reader::of(request.headers());
        let revoked = self.revoked(&route, session);
        tokio::select! {
            sent = self.forward(host, label, &route, connection, request, session) => sent,
            () = revoked => Ok(self.notice_for(Notice::NotOpened, reader)),
        }
    }

    /// Completes when the rights of a session end; never if none are needed.
    fn revoked(
        &self,
        route: &Arc<OpenRoute>,
        session: Option<Session>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let revocations = self.parts.verifier.revocations().clone();
        let share = session.and_then(|session| session.share);
        let unshared = share.map(|share| (route.unshared(share.link), until(share.expires_at)));
        async move {
            let unshared = async {
                match unshared {
                    Some((unshared, rest)) => drop(tokio::time::timeout(rest, unshared).await),
                    None => std::future::pending().await,
                }
            };
            match session {
                Some(session) => {
                    let (own, person) = session.grants();
                    tokio::select! {
                        () = revocations.ended(own) => {}
                        () = revocations.ended(person.unwrap_or(own)) => {}
                        () = unshared => {}
                    }
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Decides who may use the host name with this label. A refusal is a response.
    async fn admit(
        &self,
        host: HostLabel,
        label: &str,
        connection: &ConnectionInfo,
        headers: &HeaderMap,
    ) -> Result<Admitted, Response> {
        let not_opened = || self.notice(Notice::NotOpened, headers);
        let find = async || {
            let found = self.parts.routes.find(host, label).await;
            found.map_err(|error| {
                self.metrics.count(Outcome::Unresolved);
                gpu_unavailable(error).into_response()
            })
        };
        if let Some(session) = self.cookies.find(headers, host) {
            let revocations = self.parts.verifier.revocations();
            let (own, person) = session.grants();
            match revocations.check(&own).and_then(|()| revocations.check(&person.unwrap_or(own))) {
                Ok(()) => {
                    let Some(route) = find().await? else { return Err(self.notice(Notice::Gone, headers)) };
                    let is_own =
                        route.instance_id == session.host.instance && route.tenant_id == session.tenant;
                    // a cookie ends within a second after its link
                    let is_shared = session.share.is_none_or(|share| {
                        route.share_links.contains(&share.link) && !until(share.expires_at).is_zero()
                    });
                    return if is_own && is_shared {
                        Ok(Admitted { route, session: Some(session) })
                    } else {
                        Err(not_opened())
                    };
                }
                Err(Refused::Revoked) => {}
                Err(unknown @ Refused::Unknown) => {
                    self.metrics.count(Outcome::Unresolved);
                    return Err(Refusal::unavailable("identity", unknown).into_response());
                }
            }
        }
        if host.port.is_none() {
            return Err(not_opened());
        }
        // anyone can make up host names
        if !self.parts.routes.is_known(host, label).await {
            let allowed = self.parts.rate_limits.check_lookup(connection.peer).await;
            allowed.map_err(|exceeded| Refusal::from(exceeded).into_response())?;
        }
        match find().await? {
            Some(route) if !route.sign_in => Ok(Admitted { route, session: None }),
            _ => Err(not_opened()),
        }
    }

    /// Answers whether the instance can be reached now, to those who may use it.
    async fn status(&self, label: &str, connection: &ConnectionInfo, headers: &HeaderMap) -> Response {
        let Some(host) = HostLabel::parse(label) else { return self.notice(Notice::NotOpened, headers) };
        let route = match self.admit(host, label, connection, headers).await {
            Ok(admitted) => admitted.route,
            Err(refused) => return refused,
        };
        let is_ready = match &route.address {
            Some(address) => {
                let connected = tokio::time::timeout(CONNECT, TcpStream::connect(address)).await;
                matches!(connected, Ok(Ok(_)))
            }
            None => false,
        };
        page::status(Notice::of(&route), is_ready, headers)
    }

    /// The page or problem of a notice. Without a valid cookie it is the same as for an instance that does not exist.
    fn notice(&self, notice: Notice, headers: &HeaderMap) -> Response {
        self.notice_for(notice, Reader::of(headers))
    }

    fn notice_for(&self, notice: Notice, reader: Reader) -> Response {
        notice.response(reader, &self.parts.public_url)
    }
}

/// The time until `end`.
#[expect(
    clippy::disallowed_methods,
    reason = "the age of a cookie is measured by the clock that checks its expiry"
)]
fn until(end: jiff::Timestamp) -> Duration {
    jiff::Timestamp::now().duration_until(end).try_into().unwrap_or(Duration::ZERO)
}

fn gpu_unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Refusal {
    Refusal::unavailable("gpu", error)
}
