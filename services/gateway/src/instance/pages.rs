//! The few pages that the gateway itself shows on an instance's host name.

use ::api::{Problem, ProblemType};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use url::Url;

/// Whether a person is looking: the request asks for a page.
pub(super) fn wanted(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

fn page(title: &str, text: &str, reload: bool) -> Html<String> {
    let reload = if reload { "<meta http-equiv=\"refresh\" content=\"3\">" } else { "" };
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">{reload}<title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>body{{font:16px/1.5 system-ui,\
         sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem;color:#222}}h1{{font-size:1.4rem}}\
         @media(prefers-color-scheme:dark){{body{{background:#161616;color:#ddd}}a{{color:#8bf}}}}</style>\
         </head><body><h1>{title}</h1><p>{text}</p></body></html>\n"
    ))
}

/// How to get in. `public_url` comes from the configuration.
pub(super) fn closed(public_url: &Url) -> Html<String> {
    let text = format!(
        "Instances are opened from the console: sign in at <a href=\"{public_url}\">{public_url}</a>, find \
         your instance and choose Open. If you had it open, your visit has ended: open it again."
    );
    page("This instance is not open to you", &text, false)
}

fn unavailable(
    kind: ProblemType,
    status: StatusCode,
    title: &str,
    detail: &str,
    as_page: bool,
    reload: bool,
) -> Response {
    let mut response = if as_page {
        (status, page(title, detail, reload)).into_response()
    } else {
        Problem::new(kind, format!("{title}. {detail}")).status(status).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("3"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// For its own user: the instance exists and does not run.
pub(super) fn not_running(state: &str, as_page: bool) -> Response {
    let (title, detail, reload) = match state {
        "pending" | "starting" => ("The instance is starting", "This page tries again by itself.", true),
        "running" | "not answering" => {
            ("The instance does not answer", "It may be restarting. This page tries again by itself.", true)
        }
        "stopping" => {
            ("The instance is stopping", "Start it again from the console when it has stopped.", false)
        }
        _ => ("The instance is stopped", "Start it from the console.", false),
    };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    unavailable(ProblemType::InstanceNotRunning, status, title, detail, as_page, reload)
}

/// The instance closed the connection before it responded.
pub(super) fn broken(as_page: bool) -> Response {
    let detail = "The connection ended before a response arrived. The request may have taken effect.";
    let kind = ProblemType::InstanceBrokeOff;
    unavailable(kind, kind.status(), kind.title(), detail, as_page, false)
}
