//! Providers and linked accounts as clients see them, and where browsers return to.

use ids::LinkedAccountId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A provider with whose accounts people sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct SignInProvider {
    /// Id of the provider.
    pub(super) id: String,
    /// Name to show.
    pub(super) name: String,
    /// Path that begins a sign-in, for a link.
    pub(super) path: String,
}

/// A list of providers.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct SignInProviders {
    /// The providers, in the order of the configuration.
    pub(super) items: Vec<SignInProvider>,
}

/// An account of a provider with which the caller can sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct LinkedAccount {
    /// Id of the linked account.
    pub(super) id: LinkedAccountId,
    /// Id of the provider; null if it is no longer configured, so that the account does not sign in.
    pub(super) provider: Option<String>,
    /// Issuer of the account.
    pub(super) issuer: String,
    /// The issuer's id of the account.
    pub(super) subject: String,
    /// When the account was linked.
    pub(super) created_at: Timestamp,
    /// When the user last signed in with the account, or when it was linked.
    pub(super) last_used_at: Timestamp,
}

/// An account to link.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAccountLink {
    /// Id of the provider.
    pub(super) provider: String,
    /// Path to which the browser goes afterwards (default `/`). After a failure it has the parameter `sign_in_error`, the
    /// last segment of a problem type.
    #[serde(default)]
    pub(super) return_to: Option<String>,
}

/// The next step to link an account.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AccountLink {
    /// URL of the provider to which to redirect the browser.
    pub(super) url: String,
}

/// Returns whether a browser may be redirected to this path after the sign-in: it must lead to the same
/// origin in every interpretation.
pub(super) fn is_own_path(path: &str) -> bool {
    let rest = path.strip_prefix('/');
    let visible = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    visible && path.len() <= 500 && rest.is_some_and(|rest| !rest.starts_with('/'))
}

/// Returns the path with a parameter that contains the reason of a failed sign-in.
pub(super) fn with_error(path: &str, slug: &str) -> String {
    let (path, fragment) = path.split_once('#').map_or((path, None), |(path, rest)| (path, Some(rest)));
    let separator = if path.contains('?') { '&' } else { '?' };
    let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
    format!("{path}{separator}sign_in_error={slug}{fragment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_own_origin_are_returned_to() {
        for good in ["/", "/instances?x=1#y", "/a/b"] {
            assert!(is_own_path(good), "{good}");
        }
        for bad in
            ["", "//evil.test", "/\\evil.test", "https://evil.test", "x", "/a b", "/\n/evil.test", "/ü"]
        {
            assert!(!is_own_path(bad), "{bad:?}");
        }
        assert_eq!(with_error("/a", "x"), "/a?sign_in_error=x");
        assert_eq!(with_error("/a?b=1#c", "x"), "/a?b=1&sign_in_error=x#c");
    }
}
