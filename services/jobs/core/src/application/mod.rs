//! The methods of applications, their parameters, and the facts that scheduling needs.

mod command;
mod dreambooth;
mod generation;
mod img2img;
mod txt2img;

use ids::{ArtifactId, ModelId, UploadId};
use problem::{Checks, FieldError};
use serde_json::Value;

use crate::{
    kind::Kind,
    needs::{BaseModelKind, Needs},
};

/// A method of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `stable-diffusion.txt2img`: pictures from a text.
    Txt2Img,
    /// `stable-diffusion.img2img`: pictures from a picture and a text.
    Img2Img,
    /// `dreambooth.train`: a model from pictures.
    Train,
    /// `command.run`: a program of the tenant.
    Run,
}

/// Names of the applications.
pub const APPLICATIONS: [&str; 3] = ["stable-diffusion", "dreambooth", COMMAND];

/// The application that runs programs of tenants.
pub const COMMAND: &str = "command";

/// Name of the result of a training that is the model.
pub const MODEL_FILE: &str = "model.safetensors";

/// Name and base model of the model that a training makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Training {
    pub name: String,
    pub base_model: String,
}

/// Valid parameters, and values derived from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// With all defaults filled in.
    pub parameters: Value,
    /// The model that a worker has to load.
    pub model: Option<ModelId>,
    /// Jobs of one class take about the same time.
    pub class: String,
    /// Uploads that it uses.
    pub uploads: Vec<UploadId>,
    /// Results of other jobs that it uses.
    pub artifacts: Vec<ArtifactId>,
    /// Models of the tenant that it uses.
    pub models: Vec<ModelId>,
    /// The base model that these have to adapt; none if they are only files.
    pub base_model: Option<String>,
    /// The model that a worker must have; none for the default, which every worker has.
    pub needs: Option<Needs>,
    /// The model that it makes.
    pub training: Option<Training>,
}

impl Method {
    /// Returns the method of an application; none if there is no such method.
    pub fn find(application: &str, method: &str) -> Option<Self> {
        match (application, method) {
            ("stable-diffusion", "txt2img") => Some(Self::Txt2Img),
            ("stable-diffusion", "img2img") => Some(Self::Img2Img),
            ("dreambooth", "train") => Some(Self::Train),
            ("command", "run") => Some(Self::Run),
            _ => None,
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::Txt2Img | Self::Img2Img => Kind::Generation,
            Self::Train => Kind::Training,
            Self::Run => Kind::Batch,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names all invalid fields, below `/parameters`.
    pub fn read(self, parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
        match self {
            Self::Txt2Img => txt2img::read(parameters),
            Self::Img2Img => img2img::read(parameters),
            Self::Train => dreambooth::read(parameters),
            Self::Run => command::read(parameters),
        }
    }
}

/// The checkpoint that is loaded if a request names none.
const DEFAULT_MODEL: &str = "default";

/// The model that a worker must have for a method that names this model.
fn needs(kind: BaseModelKind, name: &str) -> Option<Needs> {
    (name != DEFAULT_MODEL).then(|| Needs { kind, name: name.to_owned() })
}

fn default_model() -> String {
    DEFAULT_MODEL.to_owned()
}

/// Reads parameters of one type.
fn typed<T: serde::de::DeserializeOwned>(parameters: &Value) -> Result<T, Vec<FieldError>> {
    T::deserialize(parameters).map_err(|error| {
        let mut checks = Checks::default();
        checks.refuse("/parameters", error.to_string());
        checks.into_errors()
    })
}
