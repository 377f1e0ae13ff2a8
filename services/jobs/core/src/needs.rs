//! What workers have, and what jobs need. Pure.

use problem::{
    Checks, FieldError,
    checks::{is_display_name, is_dns_label},
    text::composed,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of names of a kind that a worker reports.
const MOST: usize = 1_000;
/// Maximum number of characters of a name.
const MAX_NAME: usize = 128;

/// Kind of a base model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum BaseModelKind {
    /// `model` of `stable-diffusion`: what the engine loads to make pictures.
    Checkpoint,
    /// `base_model` of `dreambooth`: what a training adapts.
    BaseModel,
}

impl BaseModelKind {
    /// The kind that jobs of an application name.
    pub fn of_application(application: &str) -> Option<Self> {
        match application {
            "stable-diffusion" => Some(Self::Checkpoint),
            "dreambooth" => Some(Self::BaseModel),
            _ => None,
        }
    }

    /// The field of a job that names one.
    pub fn pointer(self) -> &'static str {
        match self {
            Self::Checkpoint => "/parameters/model",
            Self::BaseModel => "/parameters/base_model",
        }
    }
}

/// A base model that a worker has to have for a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Needs {
    pub kind: BaseModelKind,
    pub name: String,
}

impl Needs {
    /// What a stored job needs; none if any worker will do.
    pub fn of_job(application: &str, base_model: Option<&str>) -> Option<Self> {
        let kind = BaseModelKind::of_application(application)?;
        base_model.map(|name| Self { kind, name: composed(name) })
    }
}

/// Checks the name of a base model. The WebUI derives names from paths, and leaves neither `/` nor `\` in
/// them.
pub fn check_name(checks: &mut Checks, pointer: &str, name: &str) {
    let detail = format!(
        "must be 1 to {MAX_NAME} characters, without control or invisible characters, outer spaces, / and \\"
    );
    checks.require(is_name(name), pointer, detail);
}

fn is_name(name: &str) -> bool {
    is_display_name(name, MAX_NAME) && !name.contains(['/', '\\'])
}

/// The models that a worker has, by kind, sorted. None: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Models {
    pub checkpoints: Option<Vec<String>>,
    pub base_models: Option<Vec<String>>,
}

impl Models {
    /// Returns the report in its stored form: in normalization form C, sorted, and without names that no job
    /// can use.
    ///
    /// # Errors
    /// If it is too long.
    pub fn checked(self) -> Result<Self, Vec<FieldError>> {
        let mut checks = Checks::default();
        let mut names = |pointer: &str, names: Option<Vec<String>>, can_be_named: fn(&str) -> bool| {
            let names = names.map(|names| {
                let mut names: Vec<String> = names.iter().map(|name| composed(name)).collect();
                names.retain(|name| can_be_named(name));
                names.sort_unstable();
                names.dedup();
                names
            });
            checks.within(pointer, names.as_ref().map_or(0, Vec::len), 0, MOST);
            names
        };
        let checked = Self {
            checkpoints: names("/checkpoints", self.checkpoints, is_name),
            base_models: names("/base_models", self.base_models, is_dns_label),
        };
        match checks.into_errors() {
            errors if errors.is_empty() => Ok(checked),
            errors => Err(errors),
        }
    }

    /// Whether a worker with these may run a job: it has what the job needs, or its models are unknown.
    pub fn may_have(&self, needs: &Needs) -> bool {
        let names = match needs.kind {
            BaseModelKind::Checkpoint => &self.checkpoints,
            BaseModelKind::BaseModel => &self.base_models,
        };
        names.as_ref().is_none_or(|names| names.binary_search(&needs.name).is_ok())
    }

    /// Returns words from which an id can be derived: different models give different words. None if the
    /// models are unknown.
    pub fn words(&self) -> Option<Vec<&str>> {
        let kinds = [("checkpoints", &self.checkpoints), ("base_models", &self.base_models)];
        let known = kinds.into_iter().filter_map(|(kind, names)| Some((kind, names.as_ref()?)));
        // no name is empty
        let words: Vec<&str> = known
            .flat_map(|(kind, names)| ["", kind].into_iter().chain(names.iter().map(String::as_str)))
            .collect();
        (!words.is_empty()).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn a_report_is_sorted_and_has_only_what_jobs_can_name() {
        let reported =
            names(&["sd_xl base 1.0", "anime", "anime", "a/b", " x", "", "line\nbreak", &"n".repeat(129)]);
        let checked = Models { checkpoints: reported, base_models: None }.checked().unwrap();
        assert_eq!(checked, Models { checkpoints: names(&["anime", "sd_xl base 1.0"]), base_models: None });
        // as a file system of macOS has it, and another one
        let reported = names(&["mode\u{300}le", "m\u{f3}dulo", "mod\u{e8}le"]);
        let models = Models { checkpoints: reported.clone(), base_models: reported }.checked().unwrap();
        assert_eq!(
            models,
            Models { checkpoints: names(&["mod\u{e8}le", "m\u{f3}dulo"]), base_models: names(&[]) }
        );
        let long = (0..=MOST).map(|n| n.to_string()).collect();
        let Err(errors) = (Models { base_models: Some(long), ..checked }).checked() else {
            panic!("accepted")
        };
        assert_eq!(errors[0].pointer, "/base_models");
    }

    #[test]
    fn what_is_not_known_may_be_there() {
        let models = Models { checkpoints: names(&["anime", "photo"]), base_models: None };
        let needs = |application, name| Needs::of_job(application, Some(name)).unwrap();
        assert!(models.may_have(&needs("stable-diffusion", "photo")));
        assert!(!models.may_have(&needs("stable-diffusion", "sd15")));
        assert!(models.may_have(&needs("dreambooth", "sd15")));
        assert_eq!(Needs::of_job("command", Some("x")), None);
        assert_eq!(Needs::of_job("dreambooth", None), None);
    }

    #[test]
    fn other_models_have_other_words() {
        let all = [
            Models { checkpoints: names(&["a"]), base_models: None },
            Models { checkpoints: None, base_models: names(&["a"]) },
            Models { checkpoints: names(&[]), base_models: names(&["a"]) },
            Models { checkpoints: names(&["base_models", "a"]), base_models: None },
            Models { checkpoints: names(&[]), base_models: None },
        ];
        assert_eq!(Models::default().words(), None);
        for (n, one) in all.iter().enumerate() {
            assert!(all[..n].iter().all(|other| other.words() != one.words()), "{one:?}");
        }
    }
}
