//! The exchange of a ticket for a session cookie.

use axum::{
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use clients::gpu::{self, HostLabel};

use super::{Instances, cookie::Session, gpu_unavailable, page::Notice};
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
        let (Some(host), Some(ticket)) = (HostLabel::parse(label), ticket(request)) else {
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
        };
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

fn ticket(request: &Parts) -> Option<String> {
    url::form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "ticket").then(|| value.into_owned()))
}
