//! What the gateway itself answers on an instance's host name: an HTML page for browsers, a problem for programs.

mod texts;

use api::{Problem, ProblemType};
use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use clients::gpu::Route;
use serde_json::json;
use url::Url;

use crate::html::{self, Language, Mark, Markup, Page};

/// Why the instance cannot answer now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// The user has no session, or no instance has this name.
    NotOpened,
    /// The user had opened an instance that no longer exists.
    Gone,
    /// No unit is free.
    Queued,
    Starting,
    Stopping,
    Stopped,
    /// The instance runs and refuses connections.
    NotResponding,
    /// The instance closed the connection before it responded.
    Interrupted,
}

/// Who reads a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Browser(Language),
    Program,
}

impl Reader {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        if html::is_wanted(headers) { Self::Browser(Language::of(headers)) } else { Self::Program }
    }
}

impl Notice {
    /// The notice of an instance that has no address, or refuses connections at it.
    pub(super) fn of(route: &Route) -> Self {
        match route.state.as_str() {
            "pending" if route.is_queued => Self::Queued,
            "pending" | "starting" => Self::Starting,
            "running" => Self::NotResponding,
            "stopping" => Self::Stopping,
            "deleting" => Self::Gone,
            _ => Self::Stopped,
        }
    }

    /// Its name in `/.atelier/status`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NotOpened => "not_opened",
            Self::Gone => "gone",
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::NotResponding => "not_responding",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether what it says will change without the user.
    fn is_followed(self) -> bool {
        matches!(self, Self::Queued | Self::Starting | Self::Stopping | Self::Stopped | Self::NotResponding)
    }

    fn mark(self) -> Mark {
        match self {
            Self::Queued | Self::Starting | Self::Stopping | Self::NotResponding => Mark::Moves,
            Self::NotOpened | Self::Stopped | Self::Gone => Mark::Rests,
            Self::Interrupted => Mark::Failed,
        }
    }

    fn problem(self) -> (ProblemType, StatusCode) {
        let kind = match self {
            Self::NotOpened => ProblemType::NotOpened,
            Self::Gone => ProblemType::NotFound,
            Self::Interrupted => ProblemType::InstanceBrokeOff,
            _ => return (ProblemType::InstanceNotRunning, StatusCode::SERVICE_UNAVAILABLE),
        };
        (kind, kind.status())
    }

    /// The response for a reader. The address of the platform comes from the configuration.
    pub(super) fn response(self, reader: Reader, platform: &Url) -> Response {
        let (kind, status) = self.problem();
        let mut response = if let Reader::Browser(language) = reader {
            let texts = texts::of(self, language);
            let mut body = Markup::default();
            for text in texts.body {
                body = body.paragraph_with_link(text, platform.as_str());
            }
            let page = Page {
                language,
                title: texts.title,
                mark: Some((self.mark(), texts.state)),
                body,
                follows: self.is_followed().then_some(self.name()),
                is_long: false,
            };
            (status, page).into_response()
        } else {
            Problem::new(kind, self.detail()).status(status).into_response()
        };
        let headers = response.headers_mut();
        if status.is_server_error() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    fn detail(self) -> &'static str {
        match self {
            Self::NotOpened => {
                "The request has no valid cookie for this host name, or no instance has this name."
            }
            Self::Gone => "The instance was deleted, or this port is no longer public.",
            Self::Queued => "The instance waits for a free unit.",
            Self::Starting => "The instance is starting.",
            Self::Stopping => "The instance is stopping.",
            Self::Stopped => "The instance is stopped.",
            Self::NotResponding => "The instance does not respond. It may be restarting.",
            Self::Interrupted => {
                "The connection ended before a response arrived. The request may have taken effect."
            }
        }
    }
}

/// The response of `/.atelier/status`, which the pages follow.
pub(super) fn status(notice: Notice, is_ready: bool) -> Response {
    let status = json!({ "state": notice.name(), "ready": is_ready });
    ([(header::CACHE_CONTROL, "no-store")], Json(status)).into_response()
}
