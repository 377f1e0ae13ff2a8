//! The gateway's own HTML pages: one template, one style sheet, two themes. Texts are escaped, and a policy allows exactly
//! the style and the script of the page.

mod language;

use std::{fmt::Write, sync::LazyLock};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{Html, IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

pub(crate) use language::Language;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// Reloads the page when its content is out of date.
const FOLLOW: &str = include_str!("follow.js");
/// Sends the form of the page once the page is visible.
const SUBMIT: &str = include_str!("submit.js");

static POLICY: LazyLock<String> = LazyLock::new(|| policy(FOLLOW, "'none'"));
/// The policy of a page with a form.
static FORM_POLICY: LazyLock<String> = LazyLock::new(|| policy(SUBMIT, "'self'"));

fn policy(script: &str, forms: &str) -> String {
    let source = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; base-uri 'none'; \
         form-action {forms}; frame-ancestors 'none'",
        source(STYLE),
        source(script),
    )
}

/// Text as HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl Markup {
    /// Appends an element with this text. `tag` is a name of ours.
    pub(crate) fn element(mut self, tag: &str, text: &str) -> Self {
        let _ = writeln!(self.0, "<{tag}>{}</{tag}>", escape(text));
        self
    }

    /// Appends a paragraph whose text the page's script keeps up to date.
    pub(crate) fn live(mut self, text: &str) -> Self {
        let _ = writeln!(self.0, "<p id=\"live\" aria-live=\"polite\">{}</p>", escape(text));
        self
    }

    /// Appends a paragraph in which `{link}` is a link to `url`.
    pub(crate) fn paragraph_with_link(mut self, text: &str, url: &str) -> Self {
        let link = format!("<a href=\"{0}\">{0}</a>", escape(url));
        let _ = writeln!(self.0, "<p>{}</p>", escape(text).replace("{link}", &link));
        self
    }

    /// Appends a list of links, each with a description.
    pub(crate) fn links(mut self, links: &[(&str, &str, &str)]) -> Self {
        self.0.push_str("<ul>\n");
        for (url, name, description) in links {
            let (url, name, description) = (escape(url), escape(name), escape(description));
            let _ = writeln!(self.0, "<li><a href=\"{url}\">{name}</a><span>{description}</span></li>");
        }
        self.0.push_str("</ul>\n");
        self
    }

    /// Appends a form, which is sent by POST, with nothing but a button.
    pub(crate) fn form(mut self, action: &str, button: &str) -> Self {
        let (action, button) = (escape(action), escape(button));
        let _ =
            writeln!(self.0, "<form method=\"post\" action=\"{action}\"><button>{button}</button></form>");
        self
    }

    /// Appends lines of code. They can be scrolled by keyboard.
    pub(crate) fn code(mut self, text: &str) -> Self {
        let _ = writeln!(self.0, "<pre tabindex=\"0\"><code>{}</code></pre>", escape(text));
        self
    }
}

/// Escapes text for elements and for quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The mark of a state: a ring that is recognizable without its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Moves,
    Rests,
    Failed,
}

impl Mark {
    fn svg(self) -> (&'static str, &'static str) {
        match self {
            Self::Moves => ("moves", "<path d=\"M8 2a6 6 0 0 1 0 12z\" fill=\"currentColor\"/>"),
            Self::Rests => ("rests", ""),
            Self::Failed => {
                ("failed", "<path d=\"M5.5 5.5l5 5m0-5l-5 5\" stroke=\"currentColor\" stroke-width=\"1.5\"/>")
            }
        }
    }
}

/// A page.
pub(crate) struct Page<'p> {
    pub(crate) language: Language,
    pub(crate) title: &'p str,
    /// The mark and the name of the state that the page is about.
    pub(crate) mark: Option<(Mark, &'p str)>,
    pub(crate) body: Markup,
    /// The state that the page shows; the page reloads when it changes.
    pub(crate) follows: Option<&'p str>,
    /// Whether it sends its form.
    pub(crate) submits: bool,
    /// Whether it begins at the top, for pages with more than a few lines.
    pub(crate) is_long: bool,
}

impl IntoResponse for Page<'_> {
    fn into_response(self) -> Response {
        let mark = self.mark.map_or_else(String::new, |(mark, word)| {
            let (class, inner) = mark.svg();
            format!(
                "<p class=\"state\"><span class=\"{class}\"><svg viewBox=\"0 0 16 16\" fill=\"none\" \
                 aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" r=\"6.25\" stroke=\"currentColor\" \
                 stroke-width=\"1.5\"/>{inner}</svg></span>{}</p>",
                escape(word)
            )
        });
        let (head, script) = match self.follows {
            Some(_) => (
                "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>",
                format!("<script>{FOLLOW}</script>"),
            ),
            None if self.submits => ("", format!("<script>{SUBMIT}</script>")),
            None => ("", String::new()),
        };
        let policy = if self.submits { FORM_POLICY.as_str() } else { POLICY.as_str() };
        let html = fill(&[
            ("language", self.language.tag()),
            ("state", &escape(self.follows.unwrap_or_default())),
            ("title", &escape(self.title)),
            ("head", head),
            ("style", STYLE),
            ("class", if self.is_long { " class=\"wide\"" } else { "" }),
            ("mark", &mark),
            ("body", &self.body.0),
            ("script", &script),
        ]);
        let mut response = Html(html).into_response();
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CACHE_CONTROL, "no-store"),
            (header::CONTENT_LANGUAGE, self.language.tag()),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::REFERRER_POLICY, "same-origin"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Fills the template in one pass: inserted text is not expanded again.
fn fill(values: &[(&str, &str)]) -> String {
    let mut parts = TEMPLATE.split("{{");
    let mut html = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        html.push_str(value.map_or("", |(_, value)| value));
        html.push_str(rest);
    }
    html
}

/// Whether the client asks for HTML.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_read_once() {
        let evil = "<script>\"'&{{style}}{link}";
        let body = Markup::default()
            .element("p", evil)
            .paragraph_with_link("at {link}", "https://a.test/?b=\"&c")
            .links(&[("/a\"b", "<b>", "&")])
            .code("a <b>")
            .form("/a?b&c", "<")
            .live("<");
        assert_eq!(
            body.0,
            "<p>&lt;script&gt;&quot;&#39;&amp;{{style}}{link}</p>\n\
             <p>at <a href=\"https://a.test/?b=&quot;&amp;c\">https://a.test/?b=&quot;&amp;c</a></p>\n\
             <ul>\n<li><a href=\"/a&quot;b\">&lt;b&gt;</a><span>&amp;</span></li>\n</ul>\n\
             <pre tabindex=\"0\"><code>a &lt;b&gt;</code></pre>\n\
             <form method=\"post\" action=\"/a?b&amp;c\"><button>&lt;</button></form>\n\
             <p id=\"live\" aria-live=\"polite\">&lt;</p>\n"
        );
        let html = fill(&[("title", "{{body}}"), ("body", "b")]);
        assert!(html.contains("<h1>{{body}}</h1>\nb\n"), "{html}");
        assert_eq!(TEMPLATE.matches("{{").count(), 10);
    }
}
