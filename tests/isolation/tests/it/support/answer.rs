//! Answers, without what differs between two answers to the same request.

use std::fmt;

use testkit::Response;

/// Headers that differ between two answers to the same request.
const VOLATILE: [&str; 3] = ["x-request-id", "date", "ratelimit"];

/// What a caller sees of an answer. The ids that were sent are replaced by their kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// Headers in the order of their names.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: String,
}

impl Answer {
    /// `sent` has the kinds and values of the request's ids.
    #[must_use]
    pub(crate) fn new(response: &Response, sent: &[(String, String)]) -> Self {
        let hide = |text: &str| {
            sent.iter().fold(text.to_owned(), |text, (kind, id)| text.replace(id, &format!("<{kind}>")))
        };
        let mut headers: Vec<_> = response
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .map(|(name, value)| {
                let is_volatile = VOLATILE.contains(&name.as_str());
                (name, if is_volatile { String::new() } else { hide(&value) })
            })
            .collect();
        headers.sort();
        Self { status: response.status, headers, body: hide(&response.text) }
    }

    /// Whether the request did what it asks for, or only the state of its object refuses it.
    #[must_use]
    pub(crate) fn is_effective(&self) -> bool {
        self.status < 400 || self.status == 409
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.status, self.headers, self.body)
    }
}
