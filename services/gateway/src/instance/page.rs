//! Responses of the gateway itself on an instance's host name: an HTML page for browsers, a problem for programs.

mod texts;

use api::{Problem, ProblemType};
use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gpu_api::{QueuePlace, Route};
use serde_json::json;
use url::Url;

use super::{queue_place, until};
use crate::html::{self, Language, Mark, Markup, Page};

/// Why the instance cannot answer now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// The user has no session, or no instance has this name.
    NotOpened,
    /// The user had opened an instance that no longer exists.
    Gone,
    /// No unit is free. With the place in the queue, if it is known.
    Queued(Option<QueuePlace>),
    Starting,
    Stopping,
    Stopped,
    /// The instance runs and refuses connections.
    NotResponding,
    /// The instance closed the connection before it responded.
    Interrupted,
    /// A share link for one person, or no link, while it is unknown who is signed in.
    SignIn,
    /// No share link, or not one for this user.
    NoLink,
}

/// The reader of a notice.
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
            "pending" if route.is_queued => Self::Queued(route.queue),
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
            Self::Queued(_) => "queued",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::NotResponding => "not_responding",
            Self::Interrupted => "interrupted",
            Self::SignIn => "sign_in",
            Self::NoLink => "no_link",
        }
    }

    /// Whether the state will change without an action of the user.
    fn is_followed(self) -> bool {
        matches!(
            self,
            Self::Queued(_) | Self::Starting | Self::Stopping | Self::Stopped | Self::NotResponding
        )
    }

    fn mark(self) -> Mark {
        match self {
            Self::Queued(_) | Self::Starting | Self::Stopping | Self::NotResponding => Mark::Moves,
            Self::NotOpened | Self::Stopped | Self::Gone | Self::SignIn | Self::NoLink => Mark::Rests,
            Self::Interrupted => Mark::Failed,
        }
    }

    fn problem(self) -> (ProblemType, StatusCode) {
        let kind = match self {
            Self::NotOpened => ProblemType::NotOpened,
            Self::Gone | Self::NoLink => ProblemType::NotFound,
            Self::SignIn => ProblemType::Unauthenticated,
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
            if let Self::Queued(place) = self {
                body = body.live(&place.map(|place| place_text(place, language)).unwrap_or_default());
            }
            for text in texts.body {
                body = body.paragraph_with_link(text, platform.as_str());
            }
            let page = Page {
                language,
                title: texts.title,
                mark: Some((self.mark(), texts.state)),
                body,
                follows: self.is_followed().then_some(self.name()),
                submits: false,
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
            Self::Queued(_) => "The instance waits for a free unit.",
            Self::Starting => "The instance is starting.",
            Self::Stopping => "The instance is stopping.",
            Self::Stopped => "The instance is stopped.",
            Self::NotResponding => "The instance does not respond. It may be restarting.",
            Self::Interrupted => {
                "The connection ended before a response arrived. The request may have taken effect."
            }
            Self::SignIn => "Sign in, and open the link again.",
            Self::NoLink => "The link has ended, or is not for you.",
        }
    }
}

/// The page that redeems a ticket when it is visible in a browser: its form goes to `action`.
pub(super) fn open(action: &str, language: Language) -> Response {
    let (state, title, text, button) = texts::open(language);
    Page {
        language,
        title,
        mark: Some((Mark::Moves, state)),
        body: Markup::default().element("p", text).form(action, button),
        follows: None,
        submits: true,
        is_long: false,
    }
    .into_response()
}

/// The answer to a program that only previews an address with a ticket.
pub(super) fn preview() -> Response {
    let detail = "A preview does not open an instance. Open the address in a browser, or send a POST to it.";
    let mut response = Problem::new(ProblemType::NotOpened, detail).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn place_text(place: QueuePlace, language: Language) -> String {
    queue_place::text(place, place.starts_at.map(until), language)
}

/// The response of `/.atelier/status`, which the pages follow. `message` is text of the page that changes.
pub(super) fn status(notice: Notice, is_ready: bool, headers: &HeaderMap) -> Response {
    let mut status = json!({ "state": notice.name(), "ready": is_ready });
    if let Notice::Queued(Some(place)) = notice {
        status["message"] = place_text(place, Language::of(headers)).into();
    }
    ([(header::CACHE_CONTROL, "no-store")], Json(status)).into_response()
}
