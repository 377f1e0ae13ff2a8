//! The platform's own pages: the API page, and the console or the start page at `/`.

mod api_page;
mod console;
mod texts;

use axum::{
    Router,
    extract::Request,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::get,
};
use url::Url;

use crate::{
    html::{Language, Markup, Page},
    rest,
};
use console::Console;
pub use console::ConsoleConfig;

/// Where the merged document is.
const DOCUMENT: &str = "/openapi.json";
/// Where the API page is.
const API_PAGE: &str = "/api";

/// The pages of the platform. They also answer requests without a route.
///
/// # Errors
/// If the configuration of the console is not valid.
pub(crate) fn router(console: Option<&ConsoleConfig>, public_url: &Url) -> anyhow::Result<Router> {
    let console = console.map(Console::open).transpose()?.flatten();
    let Some(console) = console else {
        let public_url = public_url.clone();
        let start = get(move |headers: HeaderMap| std::future::ready(start_page(&public_url, &headers)));
        let no_page = async |request: Request| rest::no_page(request.uri().path());
        return Ok(api_page::router().route("/", start).fallback(no_page));
    };
    Ok(api_page::router().fallback(move |request| console.clone().answer(request)))
}

fn start_page(public_url: &Url, headers: &HeaderMap) -> Response {
    let language = Language::of(headers);
    let texts = texts::of(language);
    let base = public_url.as_str().trim_end_matches('/');
    let sign_in = format!(
        "curl -s {base}/v1/sessions \\\n  -H 'content-type: application/json' \\\n  \
         -d '{{\"email\":\"{}\",\"password\":\"{}\"}}'",
        texts.email, texts.password
    );
    let call = format!("curl -s {base}/v1/instances -H \"authorization: Bearer $token\"");
    let body = Markup::default()
        .element("p", texts.what)
        .element("p", texts.guarantees)
        .element("h2", texts.sign_in_title)
        .element("p", texts.sign_in)
        .code(&sign_in)
        .element("p", texts.call)
        .code(&call)
        .element("h2", texts.links_title)
        .links(&[
            (API_PAGE, texts.api_page, texts.about_api_page),
            (DOCUMENT, DOCUMENT, texts.about_document),
        ]);
    Page { language, title: texts.title, mark: None, body, follows: None, submits: false, is_long: true }
        .into_response()
}
