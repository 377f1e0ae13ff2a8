//! Entries of the catalogue: who sees what, and which entries are valid. Pure.

use api::{Checks, Problem};
use ids::ImageId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Template;

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1000;

/// A version of a service.
#[derive(Debug, Clone)]
pub(crate) struct ServiceImage {
    pub(crate) id: ImageId,
    pub(crate) service: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) template: Template,
    pub(crate) enabled: bool,
    pub(crate) generation: i64,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Who reads the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Administrator,
    User,
}

impl Reader {
    pub(super) fn new(is_administrator: bool) -> Self {
        if is_administrator { Self::Administrator } else { Self::User }
    }

    /// Returns whether the reader sees entries that are disabled.
    pub(super) fn sees_disabled(self) -> bool {
        self == Self::Administrator
    }

    /// Returns whether the reader sees the values of environment variables, which may be secrets.
    pub(super) fn sees_values(self) -> bool {
        self == Self::Administrator
    }
}

/// A new version of a service.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewServiceImage {
    /// Service: 1 to 63 of a-z, 0-9, `-`, `.` and `_`.
    pub(super) service: String,
    /// Version: 1 to 63 of a-z, 0-9, `-`, `.` and `_`.
    pub(super) version: String,
    /// Description for people, at most 1,000 characters.
    #[serde(default)]
    pub(super) description: String,
    /// How the service is run.
    pub(super) template: Template,
    /// Whether new instances can use it.
    #[serde(default = "enabled")]
    #[schema(default = true)]
    pub(super) enabled: bool,
}

fn enabled() -> bool {
    true
}

impl NewServiceImage {
    /// # Errors
    /// 422 with all invalid fields.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, "/service", &self.service);
        check_name(&mut checks, "/version", &self.version);
        check_description(&mut checks, &self.description);
        self.template.check(&mut checks);
        checks.finish()
    }

    pub(super) fn to_image(&self, now: Timestamp) -> ServiceImage {
        ServiceImage {
            id: ImageId::new(),
            service: self.service.clone(),
            version: self.version.clone(),
            description: self.description.clone(),
            template: self.template.clone(),
            enabled: self.enabled,
            generation: 1,
            created_at: now,
            updated_at: now,
        }
    }
}

/// A change of an entry. Absent fields stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceImageChange {
    /// Description for people, at most 1,000 characters.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The complete new template. Existing instances keep theirs.
    #[serde(default)]
    pub(super) template: Option<Template>,
    /// Whether new instances can use it.
    #[serde(default)]
    pub(super) enabled: Option<bool>,
}

impl ServiceImageChange {
    /// # Errors
    /// 422 with all invalid fields.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_description(&mut checks, self.description.as_deref().unwrap_or_default());
        if let Some(template) = &self.template {
            template.check(&mut checks);
        }
        checks.finish()
    }

    pub(super) fn apply(self, image: &mut ServiceImage, now: Timestamp) {
        if let Some(description) = self.description {
            image.description = description;
        }
        if let Some(template) = self.template {
            image.template = template;
        }
        image.enabled = self.enabled.unwrap_or(image.enabled);
        image.generation += 1;
        image.updated_at = now;
    }
}

fn check_name(checks: &mut Checks, pointer: &str, text: &str) {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b);
    checks.require(
        (1..=63).contains(&text.len())
            && text.bytes().all(allowed)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric()),
        pointer,
        "must be 1 to 63 of a-z, 0-9, -, . and _, and start with a letter or digit",
    );
}

fn check_description(checks: &mut Checks, text: &str) {
    checks.require(
        text.chars().count() <= MAX_DESCRIPTION,
        "/description",
        format!("must be at most {MAX_DESCRIPTION} characters"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_administrators_see_disabled_entries_and_values() {
        for (is_administrator, sees) in [(true, true), (false, false)] {
            let reader = Reader::new(is_administrator);
            assert_eq!((reader.sees_disabled(), reader.sees_values()), (sees, sees));
        }
    }

    #[test]
    fn names_and_descriptions_are_checked() {
        let valid = |name: &str| {
            let mut checks = Checks::default();
            check_name(&mut checks, "/service", name);
            checks.into_errors().is_empty()
        };
        for name in ["a", "9", "stable-diffusion.webui_2", &"x".repeat(63)] {
            assert!(valid(name), "{name}");
        }
        for name in ["", "-a", ".a", "_a", "A", "a b", "ü", &"x".repeat(64)] {
            assert!(!valid(name), "{name:?}");
        }
        for (characters, valid) in [(MAX_DESCRIPTION, true), (MAX_DESCRIPTION + 1, false)] {
            let mut checks = Checks::default();
            check_description(&mut checks, &"ü".repeat(characters));
            assert_eq!(checks.into_errors().is_empty(), valid, "{characters}");
        }
    }
}
