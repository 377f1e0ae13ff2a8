//! `dreambooth.train`: a low-rank adapter of a base model, from a few pictures of one subject.

use ids::UploadId;
use problem::{Checks, FieldError, checks::is_display_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inputs, Training, needs, typed};
use crate::needs::BaseModelKind;

/// Pictures of a training.
const IMAGES: (usize, usize) = (3, 5);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Train {
    /// Uploads.
    images: Vec<UploadId>,
    /// What the pictures show, as a class: `dog`.
    #[serde(deserialize_with = "problem::text::nfc")]
    theme: String,
    /// The word for the subject in prompts.
    #[serde(default = "token")]
    token: String,
    /// Name of the model; by default the theme.
    #[serde(default, deserialize_with = "problem::text::optional_nfc")]
    name: Option<String>,
    #[serde(default = "super::default_model")]
    base_model: String,
    #[serde(default = "steps")]
    steps: u32,
    #[serde(default = "rank")]
    rank: u32,
    #[serde(default)]
    seed: u32,
}

fn token() -> String {
    "sks".to_owned()
}

fn steps() -> u32 {
    400
}

fn rank() -> u32 {
    8
}

pub(super) fn read(parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
    let mut read: Train = typed(parameters)?;
    let mut checks = Checks::default();
    checks.within("/parameters/images", read.images.len(), IMAGES.0, IMAGES.1);
    let mut distinct = read.images.clone();
    distinct.sort_unstable();
    distinct.dedup();
    checks.require(distinct.len() == read.images.len(), "/parameters/images", "must be different uploads");
    checks.display_name("/parameters/theme", &read.theme, 100);
    let is_word = !read.token.is_empty() && read.token.chars().all(|c| c.is_ascii_alphanumeric());
    checks.require(is_word, "/parameters/token", "must be letters and digits");
    checks.length("/parameters/token", &read.token, 32);
    let name = read.name.get_or_insert_with(|| read.theme.clone()).clone();
    checks.require(is_display_name(&name, 100), "/parameters/name", "must be 1 to 100 visible characters");
    checks.name("/parameters/base_model", &read.base_model);
    checks.within("/parameters/steps", read.steps, 1, 4_000);
    checks.within("/parameters/rank", read.rank, 1, 64);
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    let work = u64::from(read.steps) * read.images.len() as u64;
    Ok(Inputs {
        model: None,
        // durations of a class differ by a factor of two at most
        class: format!("dreambooth.train/{}", work.ilog2()),
        uploads: read.images.clone(),
        artifacts: Vec::new(),
        models: Vec::new(),
        base_model: None,
        needs: needs(BaseModelKind::BaseModel, &read.base_model),
        training: Some(Training { name, base_model: read.base_model.clone() }),
        parameters: serde_json::to_value(&read).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn images(count: usize) -> Vec<UploadId> {
        (0..count).map(|_| UploadId::new()).collect()
    }

    #[test]
    fn the_model_is_named_after_the_theme() {
        let inputs = read(&json!({ "images": images(4), "theme": "dog" })).unwrap();
        let named = |name: &str| Training { name: name.to_owned(), base_model: "default".to_owned() };
        assert_eq!(inputs.training, Some(named("dog")));
        assert_eq!((inputs.class.as_str(), inputs.uploads.len()), ("dreambooth.train/10", 4));
        assert_eq!(read(&inputs.parameters).unwrap(), inputs, "stored parameters can be read again");
        let inputs = read(&json!({ "images": images(3), "theme": "dog", "name": "Rex" })).unwrap();
        assert_eq!(inputs.training, Some(named("Rex")));
        let decomposed = json!({ "images": images(3), "theme": "dog", "name": "Ko\u{308}ter" });
        assert_eq!(read(&decomposed).unwrap().training, Some(named("K\u{f6}ter")));
    }

    #[test]
    fn each_invalid_field_is_named() {
        let one = UploadId::new();
        let invalid = json!({ "images": [one, one], "theme": "", "token": "a b", "name": " ", "base_model": "../x",
                              "steps": 0, "rank": 65 });
        let pointers: Vec<_> = read(&invalid).unwrap_err().into_iter().map(|error| error.pointer).collect();
        let fields = ["images", "images", "theme", "token", "name", "base_model", "steps", "rank"];
        assert_eq!(pointers, fields.map(|field| format!("/parameters/{field}")));
    }
}
