//! Entries of the catalogue: who sees what, and which entries are valid. Pure.

use std::collections::BTreeMap;

use ids::ImageId;
use jiff::Timestamp;
use problem::{Checks, Invalid};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Link, Template,
    presentation::{check_description, check_descriptions, check_icon, check_links},
};

/// A version of a service.
#[derive(Debug, Clone)]
pub struct ServiceImage {
    pub id: ImageId,
    pub service: String,
    pub version: String,
    pub description: String,
    pub descriptions: BTreeMap<String, String>,
    pub icon_url: Option<String>,
    pub links: Vec<Link>,
    pub template: Template,
    pub enabled: bool,
    pub recommended: bool,
    pub deprecated: bool,
    pub generation: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Who reads the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Administrator,
    User,
}

impl Reader {
    pub fn new(is_administrator: bool) -> Self {
        if is_administrator { Self::Administrator } else { Self::User }
    }

    /// Returns whether the reader sees entries that are disabled.
    pub fn sees_disabled(self) -> bool {
        self == Self::Administrator
    }

    /// Returns whether the reader sees the values of environment variables, which may be secrets.
    pub fn sees_values(self) -> bool {
        self == Self::Administrator
    }
}

/// A new version of a service.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewServiceImage {
    /// Service: 1 to 63 of a-z, 0-9, `-`, `.` and `_`.
    pub service: String,
    /// Version: 1 to 63 of a-z, 0-9, `-`, `.` and `_`.
    pub version: String,
    /// Description for people, at most 1,000 characters.
    #[serde(default)]
    pub description: String,
    /// Descriptions in other languages, by language tag (BCP 47).
    #[serde(default)]
    pub descriptions: BTreeMap<String, String>,
    /// Address of an icon, `https` only.
    #[serde(default)]
    pub icon_url: Option<String>,
    /// Pages about the service, at most 10.
    #[serde(default)]
    pub links: Vec<Link>,
    /// How the service is run.
    pub template: Template,
    /// Whether users see it. New instances cannot use one that is disabled.
    #[serde(default = "enabled")]
    #[schema(default = true)]
    pub enabled: bool,
    /// Whether new instances use it unless they name a version. The service's other versions are no longer recommended.
    #[serde(default)]
    pub recommended: bool,
}

fn enabled() -> bool {
    true
}

impl NewServiceImage {
    /// # Errors
    /// All invalid fields.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut checks = Checks::default();
        check_name(&mut checks, "/service", &self.service);
        check_name(&mut checks, "/version", &self.version);
        check_description(&mut checks, "/description", &self.description);
        check_descriptions(&mut checks, &self.descriptions);
        if let Some(icon) = &self.icon_url {
            check_icon(&mut checks, icon);
        }
        check_links(&mut checks, &self.links);
        self.template.check(&mut checks);
        checks.require(self.enabled || !self.recommended, "/recommended", NOT_OFFERED);
        checks.finish()
    }

    pub fn to_image(&self, now: Timestamp) -> ServiceImage {
        ServiceImage {
            id: ImageId::new(),
            service: self.service.clone(),
            version: self.version.clone(),
            description: self.description.clone(),
            descriptions: self.descriptions.clone(),
            icon_url: self.icon_url.clone(),
            links: self.links.clone(),
            template: self.template.clone(),
            enabled: self.enabled,
            recommended: self.recommended,
            deprecated: false,
            generation: 1,
            created_at: now,
            updated_at: now,
        }
    }
}

const NOT_OFFERED: &str = "a version that is disabled or deprecated cannot be recommended";

/// A change of an entry. Absent fields stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceImageChange {
    /// Description for people, at most 1,000 characters.
    #[serde(default)]
    pub description: Option<String>,
    /// All descriptions in other languages, by language tag (BCP 47).
    #[serde(default)]
    pub descriptions: Option<BTreeMap<String, String>>,
    /// Address of an icon, `https` only. Empty to remove it.
    #[serde(default)]
    pub icon_url: Option<String>,
    /// All pages about the service, at most 10.
    #[serde(default)]
    pub links: Option<Vec<Link>>,
    /// The complete new template. Existing instances keep theirs.
    #[serde(default)]
    pub template: Option<Template>,
    /// Whether users see it. New instances cannot use one that is disabled.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Whether new instances use it unless they name a version. The service's other versions are no longer recommended.
    #[serde(default)]
    pub recommended: Option<bool>,
    /// Whether users see it, and new instances cannot use it. Existing instances start as before.
    #[serde(default)]
    pub deprecated: Option<bool>,
}

impl ServiceImageChange {
    /// # Errors
    /// All invalid fields.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut checks = Checks::default();
        check_description(&mut checks, "/description", self.description.as_deref().unwrap_or_default());
        if let Some(descriptions) = &self.descriptions {
            check_descriptions(&mut checks, descriptions);
        }
        if let Some(icon) = self.icon_url.as_deref().filter(|icon| !icon.is_empty()) {
            check_icon(&mut checks, icon);
        }
        check_links(&mut checks, self.links.as_deref().unwrap_or_default());
        if let Some(template) = &self.template {
            template.check(&mut checks);
        }
        checks.finish()
    }

    /// Changes the entry. One that is no longer offered is no longer recommended.
    ///
    /// # Errors
    /// If it is to be recommended and is not offered.
    pub fn apply(self, image: &mut ServiceImage, now: Timestamp) -> Result<(), Invalid> {
        if let Some(description) = self.description {
            image.description = description;
        }
        if let Some(descriptions) = self.descriptions {
            image.descriptions = descriptions;
        }
        if let Some(icon) = self.icon_url {
            image.icon_url = Some(icon).filter(|icon| !icon.is_empty());
        }
        if let Some(links) = self.links {
            image.links = links;
        }
        if let Some(template) = self.template {
            image.template = template;
        }
        image.enabled = self.enabled.unwrap_or(image.enabled);
        image.deprecated = self.deprecated.unwrap_or(image.deprecated);
        let is_offered = image.enabled && !image.deprecated;
        if self.recommended == Some(true) && !is_offered {
            return Err(Invalid::field("/recommended", NOT_OFFERED));
        }
        image.recommended = self.recommended.unwrap_or(image.recommended) && is_offered;
        image.generation += 1;
        image.updated_at = now;
        Ok(())
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
    fn names_are_checked() {
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
    }

    #[test]
    fn an_entry_that_is_not_offered_is_not_recommended() {
        let new: NewServiceImage = serde_json::from_value(serde_json::json!({
            "service": "webui", "version": "1", "recommended": true,
            "template": { "image": "webui:1", "ports": [{ "port": 1, "is_public": true, "is_probe": true }] },
        }))
        .unwrap();
        let change = |change| serde_json::from_value::<ServiceImageChange>(change).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        for field in ["enabled", "deprecated"] {
            let mut image = new.to_image(now);
            let ends = field == "deprecated";
            change(serde_json::json!({ field: ends })).apply(&mut image, now).unwrap();
            assert!(!image.recommended, "{field}");
            assert!(change(serde_json::json!({ "recommended": true })).apply(&mut image, now).is_err());
            let both = change(serde_json::json!({ field: !ends, "recommended": true }));
            both.apply(&mut image, now).unwrap();
            assert!(image.recommended, "{field}");
        }
    }
}
