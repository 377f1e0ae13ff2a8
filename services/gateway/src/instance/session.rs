//! The exchange of a ticket or a share link for a session cookie.

use axum::{
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use gpu_api::HostLabel;

use super::{
    Instances,
    cookie::{Person, Session, Share},
    gpu_unavailable, intent,
    page::Notice,
    personal_link,
    query::parameter,
};
use crate::{connection_info::ConnectionInfo, html, refusal::Refusal};

impl Instances {
    /// Redeems the ticket of the query at the gpu service, sets the cookie and redirects to the instance.
    pub(super) async fn open_session(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: &Parts,
    ) -> Result<Response, Refusal> {
        intent::check_method(&request.method)?;
        self.parts.rate_limits.check_sign_in(connection.peer).await?;
        if parameter(request, "ticket").is_some()
            && let Some(answer) = intent::of(request).answer(request)
        {
            return Ok(answer);
        }
        let (Some(host), Some(ticket)) = (HostLabel::parse(label), parameter(request, "ticket")) else {
            return Ok(self.notice(Notice::NotOpened, &request.headers));
        };
        let redeemed =
            self.parts.gpu.redeem(&gpu_api::RedeemRequest { ticket, host_label: label.to_owned() }).await;
        let redeemed = match redeemed {
            Ok(redeemed) if redeemed.instance_id == host.instance => redeemed,
            Ok(_) => return Ok(self.notice(Notice::NotOpened, &request.headers)),
            Err(peer::Error::Problem(problem)) if problem.status < 500 => {
                return Ok(self.notice(Notice::NotOpened, &request.headers));
            }
            Err(error @ peer::Error::Unreachable(_)) => return Err(gpu_unavailable(error)),
            Err(error) => return Err(Refusal::internal(error)),
        };
        let session = Session {
            host,
            tenant: redeemed.tenant_id,
            user: redeemed.user_id,
            session: redeemed.session_id,
            rights_at: redeemed.rights_at,
            share: None,
            person: None,
        };
        self.begin(session)
    }

    /// Opens the share link or its ticket in the query at the gpu service, sets the cookie and redirects to
    /// the instance. A link that is not for everyone is for one person, or has ended: browsers are redirected
    /// to the platform's address to sign in.
    pub(super) async fn open_shared(
        &self,
        label: &str,
        connection: &ConnectionInfo,
        request: &Parts,
    ) -> Result<Response, Refusal> {
        let has_ticket = parameter(request, "link").is_none() && parameter(request, "ticket").is_some();
        if has_ticket {
            intent::check_method(&request.method)?;
        } else if request.method != Method::GET {
            return Err(Refusal::method_not_allowed("GET"));
        }
        self.parts.rate_limits.check_sign_in(connection.peer).await?;
        if has_ticket && let Some(answer) = intent::of(request).answer(request) {
            return Ok(answer);
        }
        let not_opened = || self.notice(Notice::NotOpened, &request.headers);
        let Some(host) = HostLabel::parse(label) else { return Ok(not_opened()) };
        let host_label = label.to_owned();
        let (opened, secret) = match (parameter(request, "link"), parameter(request, "ticket")) {
            (Some(secret), _) => {
                let link = gpu_api::OpenLinkRequest { secret: secret.clone(), host_label };
                (self.parts.gpu.open_link(&link).await, Some(secret))
            }
            (None, Some(ticket)) => {
                (self.parts.gpu.redeem_link(&gpu_api::RedeemRequest { ticket, host_label }).await, None)
            }
            (None, None) => return Ok(not_opened()),
        };
        let opened = match opened {
            Ok(opened) if opened.instance_id == host.instance => opened,
            Ok(_) => return Ok(not_opened()),
            Err(peer::Error::Problem(problem)) if problem.status < 500 => {
                let secret = secret.filter(|_| html::is_wanted(&request.headers));
                return Ok(match secret {
                    Some(secret) => personal_link::at(&self.parts.public_url, label, &secret),
                    None => not_opened(),
                });
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
            person: opened.person.map(|person| Person {
                user: person.user_id,
                session: person.session_id,
                rights_at: person.rights_at,
            }),
        })
    }

    /// Sets the cookie of a session, and redirects to the instance.
    fn begin(&self, session: Session) -> Result<Response, Refusal> {
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
