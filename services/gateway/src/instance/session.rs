//! The exchange of a ticket or a share link for a session cookie.

use axum::{
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use clients::gpu::{self, HostLabel};

use super::{
    Instances,
    cookie::{Session, Share},
    gpu_unavailable,
    page::Notice,
};
use crate::{connection_info::ConnectionInfo, error::Error};

impl Instances {
    /// Redeems the ticket of the query at the gpu service, sets the cookie and redirects to the instance.
    pub(super) async fn open_session(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: &Parts,
    ) -> Result<Response, Error> {
        if request.method != Method::GET {
            return Err(Error::MethodNotAllowed { allow: "GET" });
        }
        self.state.rate_limits.check_sign_in(connection.peer).await?;
        let (Some(host), Some(ticket)) = (HostLabel::parse(label), parameter(request, "ticket")) else {
            return Ok(self.notice(Notice::NotOpened, &request.headers));
        };
        let redeemed = self.gpu.redeem(&gpu::RedeemRequest { ticket, host_label: label.to_owned() }).await;
        let redeemed = match redeemed {
            Ok(redeemed) if redeemed.instance_id == host.instance => redeemed,
            Ok(_) => return Ok(self.notice(Notice::NotOpened, &request.headers)),
            Err(clients::Error::Problem(problem)) if problem.status < 500 => {
                return Ok(self.notice(Notice::NotOpened, &request.headers));
            }
            Err(error @ clients::Error::Unreachable(_)) => return Err(gpu_unavailable(error)),
            Err(error) => return Err(Error::Internal(error.into())),
        };
        let session = Session {
            host,
            tenant: redeemed.tenant_id,
            user: redeemed.user_id,
            session: redeemed.session_id,
            rights_at: redeemed.rights_at,
            share: None,
        };
        self.begin(session)
    }

    /// Opens the share link of the query at the gpu service, sets the cookie and redirects to the instance.
    pub(super) async fn open_shared(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: &Parts,
    ) -> Result<Response, Error> {
        if request.method != Method::GET {
            return Err(Error::MethodNotAllowed { allow: "GET" });
        }
        self.state.rate_limits.check_sign_in(connection.peer).await?;
        let (Some(host), Some(secret)) = (HostLabel::parse(label), parameter(request, "link")) else {
            return Ok(self.notice(Notice::NotOpened, &request.headers));
        };
        let opened = self.gpu.open_link(&gpu::OpenLinkRequest { secret, host_label: label.to_owned() }).await;
        let opened = match opened {
            Ok(opened) if opened.instance_id == host.instance => opened,
            Ok(_) => return Ok(self.notice(Notice::NotOpened, &request.headers)),
            Err(clients::Error::Problem(problem)) if problem.status < 500 => {
                return Ok(self.notice(Notice::NotOpened, &request.headers));
            }
            Err(error) => return Err(gpu_unavailable(error)),
        };
        self.begin(Session {
            host,
            tenant: opened.tenant_id,
            user: opened.created_by,
            session: None,
            rights_at: opened.rights_at,
            share: Some(Share { link: opened.share_link_id, expires_at: opened.expires_at }),
        })
    }

    /// Sets the cookie of a session, and redirects to the instance.
    fn begin(&self, session: Session) -> Result<Response, Error> {
        #[expect(clippy::disallowed_methods, reason = "the time at which the cookie is made")]
        let cookie = self.cookies.set(session, jiff::Timestamp::now())?;
        Ok((
            StatusCode::SEE_OTHER,
            [
                (header::LOCATION, HeaderValue::from_static("/")),
                (header::SET_COOKIE, cookie),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
                (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            ],
        )
            .into_response())
    }
}

/// The value of a parameter of the query.
fn parameter(request: &Parts, wanted: &str) -> Option<String> {
    url::form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
}
