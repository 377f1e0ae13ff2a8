//! The options of the WebUI, and those that a request overrides.

use painter::{Rows, jpeg::jpeg, picture};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Formats of pictures. The real WebUI also has `webp` and `avif`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
}

impl Format {
    /// The format of the option `samples_format`; none if it is another one.
    pub(crate) fn of(options: &Map<String, Value>) -> Option<Self> {
        match options.get("samples_format")?.as_str()?.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            _ => None,
        }
    }

    /// The extension of file names.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    pub(crate) fn encode(self, picture: Rows<'_>, infotext: Option<&str>) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Png => Ok(picture::png(picture, infotext)?),
            Self::Jpeg => jpeg(picture, infotext),
        }
    }
}

/// The options that a request overrides, as in the real WebUI, for computing and saving. The pictures of the
/// response are encoded afterwards, with the options at that time.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Overrides {
    override_settings: Map<String, Value>,
    override_settings_restore_afterwards: bool,
}

impl Default for Overrides {
    fn default() -> Self {
        Self { override_settings: Map::new(), override_settings_restore_afterwards: true }
    }
}

impl Overrides {
    /// The options while the request is carried out. Unknown ones are ignored, as in the real WebUI.
    pub(crate) fn apply(&self, options: &Map<String, Value>) -> Map<String, Value> {
        let mut applied = options.clone();
        let known = self.override_settings.iter().filter(|(name, _)| options.contains_key(*name));
        applied.extend(known.map(|(name, value)| (name.clone(), value.clone())));
        applied
    }

    /// Whether the options stay as the request has set them.
    pub(crate) fn stay(&self) -> bool {
        !self.override_settings_restore_afterwards
    }
}
