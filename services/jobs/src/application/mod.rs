//! What can be asked for: methods of applications, their parameters, and what scheduling has to know of them.

mod txt2img;

use api::{Checks, FieldError};
use ids::ModelId;
use serde_json::Value;

use crate::job::Kind;

/// A method of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// `stable-diffusion.txt2img`: pictures from a text.
    Txt2Img,
}

/// Valid parameters, and what follows from them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inputs {
    /// With all defaults filled in.
    pub(crate) parameters: Value,
    /// What a worker has to have loaded.
    pub(crate) model: Option<ModelId>,
    /// Jobs of one class take about as long.
    pub(crate) class: String,
}

impl Method {
    /// Returns the method of an application; none if there is no such method.
    pub(crate) fn find(application: &str, method: &str) -> Option<Self> {
        match (application, method) {
            ("stable-diffusion", "txt2img") => Some(Self::Txt2Img),
            _ => None,
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Txt2Img => Kind::Generation,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names all invalid fields, below `/parameters`.
    pub(crate) fn read(self, parameters: &Value) -> Result<Inputs, Vec<FieldError>> {
        match self {
            Self::Txt2Img => txt2img::read(parameters),
        }
    }
}

/// Reads parameters of one type.
fn typed<T: serde::de::DeserializeOwned>(parameters: &Value) -> Result<T, Vec<FieldError>> {
    T::deserialize(parameters).map_err(|error| {
        let mut checks = Checks::default();
        checks.refuse("/parameters", error.to_string());
        checks.into_errors()
    })
}
