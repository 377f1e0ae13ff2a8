//! `stable-diffusion.txt2img`: pictures from a text.

use problem::{Checks, FieldError};
use serde_json::Value;

use super::{Inputs, generation::Generation, typed};

pub(super) fn read(parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
    let read: Generation = typed(parameters)?;
    let mut checks = Checks::default();
    read.check(&mut checks);
    let errors = checks.into_errors();
    if !errors.is_empty() {
        return Err(errors);
    }
    let parameters = serde_json::to_value(&read).unwrap_or_default();
    Ok(read.inputs("txt2img", read.steps, parameters))
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
