//! What the gateway itself answers on an instance's host name: an HTML page for browsers, a problem for programs.

use api::{Problem, ProblemType};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use url::Url;

/// Whether the client accepts HTML.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

/// A notice that the instance cannot answer now.
struct Notice {
    kind: ProblemType,
    status: StatusCode,
    title: &'static str,
    detail: &'static str,
    /// Whether the page reloads itself.
    reload: bool,
}

/// The page for users without a session. `public_url` comes from the configuration.
pub(super) fn not_opened(public_url: &Url) -> Html<String> {
    let text = format!(
        "Open instances from the console: sign in at <a href=\"{public_url}\">{public_url}</a>, find your \
         instance and choose Open. If it was open before, its session has ended."
    );
    render("This instance is not open", &text, false)
}

/// The instance exists and does not run.
pub(super) fn not_running(state: &str, as_page: bool) -> Response {
    let (title, detail, reload) = match state {
        "pending" | "starting" => ("The instance is starting", "This page reloads by itself.", true),
        "running" => return not_responding(as_page),
        "stopping" => {
            ("The instance is stopping", "Start it again from the console when it has stopped.", false)
        }
        _ => ("The instance is stopped", "Start it from the console.", false),
    };
    Notice {
        kind: ProblemType::InstanceNotRunning,
        status: StatusCode::SERVICE_UNAVAILABLE,
        title,
        detail,
        reload,
    }
    .respond(as_page)
}

/// The instance runs and refuses connections.
pub(super) fn not_responding(as_page: bool) -> Response {
    Notice {
        kind: ProblemType::InstanceNotRunning,
        status: StatusCode::SERVICE_UNAVAILABLE,
        title: "The instance does not respond",
        detail: "It may be restarting. This page reloads by itself.",
        reload: true,
    }
    .respond(as_page)
}

/// The instance closed the connection before it responded.
pub(super) fn interrupted(as_page: bool) -> Response {
    let kind = ProblemType::InstanceBrokeOff;
    Notice {
        kind,
        status: kind.status(),
        title: kind.title(),
        detail: "The connection ended before a response arrived. The request may have taken effect.",
        reload: false,
    }
    .respond(as_page)
}

impl Notice {
    fn respond(self, as_page: bool) -> Response {
        let mut response = if as_page {
            (self.status, render(self.title, self.detail, self.reload)).into_response()
        } else {
            let detail = format!("{}. {}", self.title, self.detail);
            Problem::new(self.kind, detail).status(self.status).into_response()
        };
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn render(title: &str, text: &str, reload: bool) -> Html<String> {
    let reload = if reload { "<meta http-equiv=\"refresh\" content=\"3\">" } else { "" };
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">{reload}<title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>body{{font:16px/1.5 system-ui,\
         sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem;color:#222}}h1{{font-size:1.4rem}}\
         @media(prefers-color-scheme:dark){{body{{background:#161616;color:#ddd}}a{{color:#8bf}}}}</style>\
         </head><body><h1>{title}</h1><p>{text}</p></body></html>\n"
    ))
}
