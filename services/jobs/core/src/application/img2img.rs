//! `stable-diffusion.img2img`: pictures from a picture and a text. The names are those of the WebUI's API,
//! except `image`.

use ids::{ArtifactId, UploadId};
use problem::{Checks, FieldError};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{Inputs, generation::Generation, typed};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Img2Img {
    /// The picture to start from.
    image: Picture,
    /// White where the picture is repainted; without one it is repainted everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<Picture>,
    /// How much of the picture changes: 0 nothing, 1 everything.
    #[serde(default = "denoising_strength")]
    denoising_strength: f64,
    #[serde(flatten, deserialize_with = "strict")]
    generation: Generation,
}

/// A file of the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the id of an upload (upl_…) or of a result of a job (art_…)")]
enum Picture {
    Upload(UploadId),
    Artifact(ArtifactId),
}

fn denoising_strength() -> f64 {
    0.75
}

/// Reads all other fields. `flatten` by itself would ignore unknown ones.
fn strict<'de, D: Deserializer<'de>>(fields: D) -> Result<Generation, D::Error> {
    let fields = Map::deserialize(fields)?;
    Generation::deserialize(Value::Object(fields)).map_err(D::Error::custom)
}

pub(super) fn read(parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
    let read: Img2Img = typed(parameters)?;
    let mut checks = Checks::default();
    let is_other = read.mask != Some(read.image);
    checks.require(is_other, "/parameters/mask", "must be another picture than `image`");
    checks.within("/parameters/denoising_strength", read.denoising_strength, 0.0, 1.0);
    read.generation.check(&mut checks);
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    let parameters = serde_json::to_value(&read).unwrap_or_default();
    let steps = steps(read.generation.steps, read.denoising_strength);
    let (mut uploads, mut artifacts) = (Vec::new(), Vec::new());
    for picture in [read.image].into_iter().chain(read.mask) {
        match picture {
            Picture::Upload(id) => uploads.push(id),
            Picture::Artifact(id) => artifacts.push(id),
        }
    }
    Ok(Inputs { uploads, artifacts, ..read.generation.inputs("img2img", steps, parameters) })
}

/// Returns how many of the steps the WebUI computes: it starts with a picture that has noise according to the
/// strength.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the steps")]
fn steps(steps: u32, denoising_strength: f64) -> u32 {
    (f64::from(steps) * denoising_strength.min(0.999)) as u32 + 1
}

#[cfg(test)]
mod tests {
    use ids::ModelId;
    use serde_json::json;

    use super::*;

    fn pointers(parameters: &Value) -> Vec<String> {
        read(parameters).unwrap_err().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn defaults_are_filled_in() {
        let (image, mask, model) = (UploadId::new(), ArtifactId::new(), ModelId::new());
        let plain = read(&json!({ "prompt": "a fox", "image": image })).unwrap();
        assert_eq!(plain.parameters["denoising_strength"], 0.75);
        assert_eq!((&plain.parameters["width"], &plain.parameters["steps"]), (&json!(512), &json!(20)));
        assert!(plain.parameters.get("mask").is_none());
        assert_eq!((&plain.uploads[..], &plain.artifacts[..]), (&[image][..], &[][..]));
        let masked = json!({ "prompt": "a fox", "image": image, "mask": mask, "models": [model] });
        let masked = read(&masked).unwrap();
        assert_eq!((&masked.uploads[..], &masked.artifacts[..]), (&[image][..], &[mask][..]));
        assert_eq!(masked.models, [model]);
        assert_eq!(read(&masked.parameters).unwrap(), masked, "stored parameters can be read again");
        let other = super::super::txt2img::read(&json!({ "prompt": "a fox" })).unwrap();
        assert_eq!(plain.model, other.model, "they need the same checkpoint");
    }

    #[test]
    fn the_class_follows_from_the_steps_that_are_computed() {
        let class = |denoising_strength: f64| {
            let parameters = json!({ "prompt": "a fox", "image": UploadId::new(), "steps": 128,
                                     "denoising_strength": denoising_strength });
            read(&parameters).unwrap().class
        };
        assert_eq!(class(0.0), "stable-diffusion.img2img/18");
        assert_eq!(class(0.1), "stable-diffusion.img2img/21");
        assert_eq!(class(1.0), "stable-diffusion.img2img/25");
    }

    #[test]
    fn each_invalid_field_is_named() {
        let image = UploadId::new();
        let one_of = [
            json!({ "prompt": "x" }),
            json!({ "image": image }),
            json!({ "prompt": "x", "image": "dog.png" }),
            json!({ "prompt": "x", "image": ModelId::new() }),
            json!({ "prompt": "x", "image": image, "denoising_strenght": 0.5 }),
        ];
        for invalid in one_of {
            assert_eq!(pointers(&invalid), ["/parameters"], "{invalid}");
        }
        let invalid =
            json!({ "prompt": "", "image": image, "mask": image, "denoising_strength": 1.5, "steps": 0 });
        let fields = ["mask", "denoising_strength", "prompt", "steps"];
        assert_eq!(pointers(&invalid), fields.map(|field| format!("/parameters/{field}")));
    }
}
