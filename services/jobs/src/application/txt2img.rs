//! `stable-diffusion.txt2img`. The names are those of the WebUI's API.

use api::{Checks, FieldError};
use ids::ModelId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inputs, typed};

/// Characters of a prompt, at most.
const MAX_PROMPT: usize = 4_000;
/// Edge of a picture, in pixels; a multiple of [`GRID`].
const EDGE: (u32, u32) = (64, 2_048);
const GRID: u32 = 8;
/// Models of the tenant in one request.
const MAX_MODELS: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Txt2Img {
    prompt: String,
    #[serde(default)]
    negative_prompt: String,
    /// Name of the checkpoint.
    #[serde(default = "super::default_model")]
    model: String,
    /// Models of the tenant that adapt it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    models: Vec<Adapter>,
    #[serde(default = "edge")]
    width: u32,
    #[serde(default = "edge")]
    height: u32,
    #[serde(default = "steps")]
    steps: u32,
    #[serde(default = "cfg_scale")]
    cfg_scale: f64,
    /// -1 for a random one.
    #[serde(default = "seed")]
    seed: i64,
    #[serde(default = "images")]
    images: u32,
}

/// A model of the tenant, and how strong it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Named")]
struct Adapter {
    id: ModelId,
    weight: f64,
}

/// An id alone has the weight 1.
#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Id(ModelId),
    Weighted(Weighted),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weighted {
    id: ModelId,
    #[serde(default = "weight")]
    weight: f64,
}

impl From<Named> for Adapter {
    fn from(named: Named) -> Self {
        match named {
            Named::Id(id) => Self { id, weight: weight() },
            Named::Weighted(Weighted { id, weight }) => Self { id, weight },
        }
    }
}

fn weight() -> f64 {
    1.0
}

fn edge() -> u32 {
    512
}

fn steps() -> u32 {
    20
}

fn cfg_scale() -> f64 {
    7.0
}

fn seed() -> i64 {
    -1
}

fn images() -> u32 {
    1
}

pub(super) fn read(parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
    let read: Txt2Img = typed(parameters)?;
    let mut checks = Checks::default();
    let characters = |text: &str| text.chars().count();
    checks.require(
        (1..=MAX_PROMPT).contains(&characters(&read.prompt)),
        "/parameters/prompt",
        format!("must be 1 to {MAX_PROMPT} characters"),
    );
    checks.require(
        characters(&read.negative_prompt) <= MAX_PROMPT,
        "/parameters/negative_prompt",
        format!("must be at most {MAX_PROMPT} characters"),
    );
    for (pointer, text) in
        [("/parameters/prompt", &read.prompt), ("/parameters/negative_prompt", &read.negative_prompt)]
    {
        checks.require(!text.contains('\0'), pointer, "must not contain NUL");
    }
    checks.name("/parameters/model", &read.model);
    checks.within("/parameters/models", read.models.len(), 0, MAX_MODELS);
    for (n, model) in read.models.iter().enumerate() {
        checks.within(&format!("/parameters/models/{n}/weight"), model.weight, -2.0, 2.0);
        let is_new = read.models[..n].iter().all(|other| other.id != model.id);
        checks.require(is_new, format!("/parameters/models/{n}"), "duplicate model");
    }
    for (pointer, pixels) in [("/parameters/width", read.width), ("/parameters/height", read.height)] {
        checks.within(pointer, pixels, EDGE.0, EDGE.1);
        checks.require(pixels % GRID == 0, pointer, format!("must be a multiple of {GRID}"));
    }
    checks.within("/parameters/steps", read.steps, 1, 150);
    checks.within("/parameters/cfg_scale", read.cfg_scale, 1.0, 30.0);
    checks.within("/parameters/seed", read.seed, -1, i64::from(u32::MAX));
    checks.within("/parameters/images", read.images, 1, 8);
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    let class = class(&read);
    let models: Vec<ModelId> = read.models.iter().map(|model| model.id).collect();
    let mut loaded = vec!["stable-diffusion".to_owned(), read.model.clone()];
    loaded.extend(models.iter().map(ToString::to_string));
    let loaded: Vec<&str> = loaded.iter().map(String::as_str).collect();
    Ok(Inputs {
        model: Some(ModelId::derived(&loaded)),
        class,
        uploads: Vec::new(),
        models,
        base_model: Some(read.model.clone()),
        training: None,
        parameters: serde_json::to_value(&read).unwrap_or_default(),
    })
}

/// The logarithm of pixels × steps × images: durations of a class differ by a factor of two at most.
fn class(read: &Txt2Img) -> String {
    let work =
        u64::from(read.width) * u64::from(read.height) * u64::from(read.steps) * u64::from(read.images);
    format!("stable-diffusion.txt2img/{}", work.ilog2())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointers(parameters: &Value) -> Vec<String> {
        read(parameters).unwrap_err().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn defaults_are_filled_in() {
        let inputs = read(&json!({ "prompt": "a fox" })).unwrap();
        assert_eq!(inputs.parameters["width"], 512);
        assert_eq!(inputs.parameters["model"], "default");
        assert_eq!(inputs.class, "stable-diffusion.txt2img/22");
        let other = read(&json!({ "prompt": "a fox", "model": "anime" })).unwrap();
        assert_ne!(inputs.model, other.model);
        let twice = read(&json!({ "prompt": "a fox", "images": 2 })).unwrap();
        assert_ne!(inputs.class, twice.class);
        assert_eq!(inputs.model, twice.model);
    }

    #[test]
    fn models_of_the_tenant_count_for_what_is_loaded() {
        let (one, two) = (ModelId::new(), ModelId::new());
        let plain = read(&json!({ "prompt": "a fox" })).unwrap();
        assert!(plain.models.is_empty() && plain.parameters.get("models").is_none());
        let adapted = json!({ "prompt": "a fox", "models": [one, { "id": two, "weight": 0.5 }] });
        let adapted = read(&adapted).unwrap();
        assert_eq!(adapted.models, [one, two]);
        let stored = json!([{ "id": one, "weight": 1.0 }, { "id": two, "weight": 0.5 }]);
        assert_eq!(adapted.parameters["models"], stored);
        assert_eq!(read(&adapted.parameters).unwrap(), adapted, "stored parameters can be read again");
        assert_ne!(adapted.model, plain.model);
        let invalid = json!({ "prompt": "x", "models": [one, { "id": one, "weight": 3 }] });
        assert_eq!(pointers(&invalid), ["/parameters/models/1/weight", "/parameters/models/1"]);
    }

    #[test]
    fn each_invalid_field_is_named() {
        assert_eq!(pointers(&json!({})), ["/parameters"]);
        assert_eq!(pointers(&json!({ "prompt": "x", "stpes": 3 })), ["/parameters"]);
        assert_eq!(
            pointers(&json!({ "prompt": "", "width": 100, "height": 4096, "steps": 0, "images": 9,
                              "model": "../etc", "seed": -2 })),
            ["prompt", "model", "width", "height", "steps", "seed", "images"]
                .map(|f| format!("/parameters/{f}"))
        );
    }
}
