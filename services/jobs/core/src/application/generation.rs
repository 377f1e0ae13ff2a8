//! The parameters that all methods of `stable-diffusion` have. The names are those of the WebUI's API.

use ids::ModelId;
use problem::Checks;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inputs, needs};
use crate::needs::{self, BaseModelKind};

/// Maximum number of characters of a prompt.
const MAX_PROMPT: usize = 4_000;
/// Edge of a picture, in pixels; a multiple of [`GRID`].
const EDGE: (u32, u32) = (64, 2_048);
const GRID: u32 = 8;
/// Models of the tenant in one request.
const MAX_MODELS: usize = 4;

/// What to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Generation {
    prompt: String,
    #[serde(default)]
    negative_prompt: String,
    /// Name of the checkpoint.
    #[serde(default = "super::default_model", deserialize_with = "problem::text::nfc")]
    model: String,
    /// Models of the tenant that adapt it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    models: Vec<Adapter>,
    #[serde(default = "edge")]
    width: u32,
    #[serde(default = "edge")]
    height: u32,
    #[serde(default = "steps")]
    pub(super) steps: u32,
    #[serde(default = "cfg_scale")]
    cfg_scale: f64,
    /// -1 for a random one.
    #[serde(default = "seed")]
    seed: i64,
    #[serde(default = "images")]
    images: u32,
}

/// A model of the tenant, with its weight.
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

impl Generation {
    /// Checks the values, below `/parameters`.
    pub(super) fn check(&self, checks: &mut Checks) {
        let characters = |text: &str| text.chars().count();
        checks.require(
            (1..=MAX_PROMPT).contains(&characters(&self.prompt)),
            "/parameters/prompt",
            format!("must be 1 to {MAX_PROMPT} characters"),
        );
        checks.require(
            characters(&self.negative_prompt) <= MAX_PROMPT,
            "/parameters/negative_prompt",
            format!("must be at most {MAX_PROMPT} characters"),
        );
        for (pointer, text) in
            [("/parameters/prompt", &self.prompt), ("/parameters/negative_prompt", &self.negative_prompt)]
        {
            checks.require(!text.contains('\0'), pointer, "must not contain NUL");
        }
        needs::check_name(checks, "/parameters/model", &self.model);
        checks.within("/parameters/models", self.models.len(), 0, MAX_MODELS);
        for (n, model) in self.models.iter().enumerate() {
            checks.within(&format!("/parameters/models/{n}/weight"), model.weight, -2.0, 2.0);
            let is_new = self.models[..n].iter().all(|other| other.id != model.id);
            checks.require(is_new, format!("/parameters/models/{n}"), "duplicate model");
        }
        for (pointer, pixels) in [("/parameters/width", self.width), ("/parameters/height", self.height)] {
            checks.within(pointer, pixels, EDGE.0, EDGE.1);
            checks.require(pixels % GRID == 0, pointer, format!("must be a multiple of {GRID}"));
        }
        checks.within("/parameters/steps", self.steps, 1, 150);
        checks.within("/parameters/cfg_scale", self.cfg_scale, 1.0, 30.0);
        checks.within("/parameters/seed", self.seed, -1, i64::from(u32::MAX));
        checks.within("/parameters/images", self.images, 1, 8);
    }

    /// Returns the inputs of a method that computes `steps` of the steps, from checked values and all
    /// `parameters`.
    pub(super) fn inputs(&self, method: &str, steps: u32, parameters: Value) -> Inputs {
        let models: Vec<ModelId> = self.models.iter().map(|model| model.id).collect();
        let mut loaded = vec!["stable-diffusion".to_owned(), self.model.clone()];
        loaded.extend(models.iter().map(ToString::to_string));
        let loaded: Vec<&str> = loaded.iter().map(String::as_str).collect();
        let pixels = u64::from(self.width) * u64::from(self.height);
        let work = pixels * u64::from(steps) * u64::from(self.images);
        Inputs {
            model: Some(ModelId::derived(&loaded)),
            // durations of a class differ by a factor of two at most
            class: format!("stable-diffusion.{method}/{}", work.ilog2()),
            uploads: Vec::new(),
            artifacts: Vec::new(),
            models,
            base_model: Some(self.model.clone()),
            needs: needs(BaseModelKind::Checkpoint, &self.model),
            training: None,
            parameters,
        }
    }
}
