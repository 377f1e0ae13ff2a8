//! Whether a request for an address with a ticket redeems the ticket. Browsers preload addresses, and mail
//! and chat programs fetch previews of addresses in messages.

use axum::{
    http::{HeaderMap, Method, header, request::Parts},
    response::Response,
};

use super::page;
use crate::{
    html::{self, Language},
    refusal::Refusal,
};

/// Headers of speculative requests: the Fetch standard's, and those of older browsers.
const AHEAD: [(&str, &str); 5] = [
    ("sec-purpose", "prefetch"),
    ("purpose", "prefetch"),
    ("purpose", "preview"),
    ("x-moz", "prefetch"),
    ("x-purpose", "preview"),
];
/// Words in the names of programs that fetch addresses in messages, and of all other crawlers.
const ROBOTS: [&str; 21] = [
    "bot",
    "preview",
    "crawler",
    "spider",
    "facebookexternalhit",
    "facebookcatalog",
    "whatsapp",
    "slack",
    "skype",
    "embedly",
    "iframely",
    "vkshare",
    "pinterest",
    "mastodon",
    // Office fetches an address before it passes it to the browser
    "ms-office",
    "microsoft office",
    // mail gateways that scan for malware
    "barracuda",
    "mimecast",
    "proofpoint",
    "headlesschrome",
    "scanner",
];

/// The intent of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// To open the instance.
    Open,
    /// Unclear: the browser shows a page with a button.
    Ask,
    /// To preview.
    Look,
}

/// # Errors
/// If the method can do nothing with a ticket.
pub(super) fn check_method(method: &Method) -> Result<(), Refusal> {
    let known = matches!(*method, Method::GET | Method::POST);
    known.then_some(()).ok_or_else(|| Refusal::method_not_allowed("GET, POST"))
}

pub(super) fn of(request: &Parts) -> Intent {
    if request.method == Method::POST {
        return Intent::Open;
    }
    let headers = &request.headers;
    let is_ahead = AHEAD.iter().any(|(name, purpose)| has(headers, name, purpose));
    let looks = is_ahead || ROBOTS.iter().any(|word| has(headers, header::USER_AGENT.as_str(), word));
    match (html::is_wanted(headers), looks) {
        (true, true) => Intent::Ask,
        (false, true) => Intent::Look,
        // browsers send this header at addresses with `https`; preview programs do not
        (true, false) if !has(headers, "sec-fetch-mode", "navigate") => Intent::Ask,
        (_, false) => Intent::Open,
    }
}

fn has(headers: &HeaderMap, name: &str, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.into_iter().any(|value| value.to_ascii_lowercase().contains(word))
}

impl Intent {
    /// The answer to a request that does not use up a ticket.
    pub(super) fn answer(self, request: &Parts) -> Option<Response> {
        match self {
            Self::Open => None,
            Self::Ask => {
                let action = request.uri.path_and_query().map_or("", |target| target.as_str());
                Some(page::open(action, Language::of(&request.headers)))
            }
            Self::Look => Some(page::preview()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn only_people_and_their_programs_use_a_ticket_up() {
        const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        const ANY: (&str, &str) = ("accept", "*/*");
        const NAVIGATES: (&str, &str) = ("sec-fetch-mode", "navigate");
        for (headers, intent) in [
            (&[HTML, NAVIGATES, ("sec-fetch-dest", "document")][..], Intent::Open),
            (&[HTML, ("user-agent", "Mozilla/5.0 (X11) Firefox/60.0")], Intent::Ask),
            (&[HTML, NAVIGATES, ("sec-purpose", "prefetch")], Intent::Ask),
            (&[HTML, NAVIGATES, ("sec-purpose", "prefetch;prerender")], Intent::Ask),
            (&[HTML, NAVIGATES, ("purpose", "prefetch")], Intent::Ask),
            (&[HTML, ("x-moz", "prefetch")], Intent::Ask),
            (&[ANY, ("sec-purpose", "prefetch")], Intent::Look),
            (&[ANY, ("x-purpose", "preview")], Intent::Look),
            (&[HTML, NAVIGATES, ("user-agent", "Slackbot-LinkExpanding 1.0")], Intent::Ask),
            (&[ANY, ("user-agent", "facebookexternalhit/1.1")], Intent::Look),
            (&[ANY, ("user-agent", "WhatsApp/2.23 A")], Intent::Look),
            (&[ANY, ("user-agent", "Mozilla/5.0 (compatible; Discordbot/2.0)")], Intent::Look),
            (&[ANY, ("user-agent", "Mozilla/5.0 SkypeUriPreview Preview/0.5")], Intent::Look),
            (&[ANY, ("user-agent", "Mozilla/4.0 (compatible; ms-office; MSOffice 16)")], Intent::Look),
            (&[ANY, ("user-agent", "Microsoft Office Existence Discovery")], Intent::Look),
            (&[HTML, ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/120.0")], Intent::Ask),
            (&[("user-agent", "TelegramBot (like TwitterBot)")], Intent::Look),
            (&[ANY, ("user-agent", "curl/8.5.0")], Intent::Open),
            (&[], Intent::Open),
        ] {
            let request = |method| {
                let mut request = Request::builder().method(method);
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
                request.body(()).unwrap().into_parts().0
            };
            assert_eq!(of(&request(Method::GET)), intent, "{headers:?}");
            assert_eq!(of(&request(Method::POST)), Intent::Open);
        }
        for method in [Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE] {
            assert!(check_method(&method).is_err());
        }
    }
}
