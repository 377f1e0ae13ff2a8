//! The language of a page, by `Accept-Language`.

use axum::http::{HeaderMap, header};

/// A language of the pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// The language that the client prefers; English if it prefers none of them.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut best = (0.0, Self::default());
        let values = headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let (tag, quality) = range.split_once(';').unwrap_or((range, ""));
            let language = match tag.trim().split('-').next().unwrap_or_default() {
                tag if tag.eq_ignore_ascii_case("zh") => Self::Chinese,
                tag if tag.eq_ignore_ascii_case("en") => Self::English,
                _ => continue,
            };
            let quality = match quality.trim().strip_prefix("q=") {
                Some(quality) => quality.parse().unwrap_or(0.0),
                None => 1.0,
            };
            // among equals, the first counts
            if quality > best.0 {
                best = (quality, language);
            }
        }
        best.1
    }

    /// Its tag (BCP 47).
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_language_is_chosen() {
        for (accept, language) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", Language::Chinese),
            ("en-US,en;q=0.9,zh;q=0.8", Language::English),
            ("fr, zh;q=0.5, en;q=0.4", Language::Chinese),
            ("en;q=0.3, ZH-Hans;q=0.4", Language::Chinese),
            ("zh;q=0, en;q=0.1", Language::English),
            ("zh;q=x", Language::English),
            ("fr", Language::English),
            ("*", Language::English),
            ("", Language::English),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, accept.parse().unwrap());
            assert_eq!(Language::of(&headers), language, "{accept}");
        }
    }
}
