//! What an entry of the catalogue says, and which entries make sense. Pure.

use api::FieldError;
use crds::Protocol;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How an image is run. Copied into each instance when it is created, so that a later change of the
/// catalogue does not change existing instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceTemplate)]
pub struct Template {
    /// Container image.
    pub image: String,
    /// Ports it listens on: at least one public and one for the probe (they may be the same).
    pub ports: Vec<TemplatePort>,
    /// Environment, before what the user adds.
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// Entry point; the image's own when empty.
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments; the image's own when empty.
    #[serde(default)]
    pub args: Vec<String>,
    /// Working directory; the image's own when absent.
    #[serde(default)]
    pub working_dir: Option<String>,
    /// Where the user's storage is mounted; absent when the service uses none.
    #[serde(default)]
    pub storage_mount_path: Option<String>,
    /// The image needs root inside: it gets a user namespace of its own.
    #[serde(default)]
    pub root_inside: bool,
    /// Size of `/dev/shm` in MiB.
    #[serde(default)]
    pub shm_size_mib: Option<i64>,
    /// Runtime class; the cluster's own when absent.
    #[serde(default)]
    pub runtime_class_name: Option<String>,
    /// Seconds between the polite and the hard end.
    #[serde(default = "default_grace")]
    pub termination_grace_period_seconds: i64,
    /// A start that has not passed its probe after so many seconds has failed.
    #[serde(default = "default_start_timeout")]
    pub start_timeout_seconds: i64,
}

fn default_grace() -> i64 {
    10
}

fn default_start_timeout() -> i64 {
    600
}

/// A port of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplatePort {
    /// Number.
    pub port: u16,
    /// `TCP` (default), `UDP` or `SCTP`.
    #[serde(default)]
    #[schema(value_type = String)]
    pub protocol: Protocol,
    /// Users reach it through the instance's URL.
    #[serde(default)]
    pub is_public: bool,
    /// Readiness is asked for here.
    #[serde(default)]
    pub is_probe: bool,
    /// Path that the service answers under; the probe gets it. Empty: the probe only connects.
    #[serde(default)]
    pub base_url: String,
}

/// One environment variable.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    /// Letters, digits and `_`, not beginning with a digit.
    pub name: String,
    /// Its value, taken as it stands. At most 32 KiB.
    #[serde(default)]
    pub value: String,
}

/// Values may be secrets: they do not get into logs.
impl std::fmt::Debug for EnvVar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

const MAX_ENV: usize = 100;
const MAX_ENV_VALUE: usize = 32 * 1024;
const MAX_ENV_TOTAL: usize = 128 * 1024;

/// What is wrong with a list of environment variables at `pointer`.
#[must_use]
pub(crate) fn check_env(pointer: &str, env: &[EnvVar]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse = |pointer: String, detail: String| errors.push(FieldError { pointer, detail });
    if env.len() > MAX_ENV {
        refuse(pointer.to_owned(), format!("at most {MAX_ENV} variables"));
    }
    if env.iter().map(|v| v.name.len() + v.value.len()).sum::<usize>() > MAX_ENV_TOTAL {
        refuse(pointer.to_owned(), format!("at most {MAX_ENV_TOTAL} bytes in all"));
    }
    let mut seen = std::collections::HashSet::new();
    for (i, variable) in env.iter().enumerate().take(MAX_ENV) {
        let EnvVar { name, value } = variable;
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.as_bytes().first().is_none_or(u8::is_ascii_digit)
            && name.len() <= 128;
        if !plain {
            refuse(
                format!("{pointer}/{i}/name"),
                "must be 1 to 128 letters, digits and `_`, not beginning with a digit".to_owned(),
            );
        } else if name.starts_with("ATELIER_") || name.starts_with("KUBERNETES_") {
            refuse(format!("{pointer}/{i}/name"), "this name belongs to the platform".to_owned());
        } else if !seen.insert(name) {
            refuse(format!("{pointer}/{i}/name"), "this name stands twice".to_owned());
        }
        if value.len() > MAX_ENV_VALUE || value.contains('\0') {
            refuse(
                format!("{pointer}/{i}/value"),
                format!("at most {MAX_ENV_VALUE} bytes, without a zero byte"),
            );
        }
    }
    errors
}

/// What is wrong with a service's name or a version's.
#[must_use]
pub(super) fn check_name(pointer: &str, text: &str) -> Option<FieldError> {
    let fine = (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b))
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    (!fine).then(|| FieldError {
        pointer: pointer.to_owned(),
        detail:
            "must be 1 to 63 lower-case letters, digits, `-`, `.` and `_`, beginning with a letter or digit"
                .to_owned(),
    })
}

impl Template {
    /// The port that the instance's URL leads to.
    #[must_use]
    pub fn public_port(&self) -> Option<&TemplatePort> {
        self.ports.iter().find(|port| port.is_public)
    }

    /// What is wrong with it, each with its place.
    #[must_use]
    pub fn check(&self) -> Vec<FieldError> {
        let mut errors = check_env("/template/env", &self.env);
        let mut refuse = |wrong: bool, pointer: &str, detail: &str| {
            if wrong {
                errors
                    .push(FieldError { pointer: format!("/template/{pointer}"), detail: detail.to_owned() });
            }
        };
        let absolute = |path: &Option<String>| {
            path.as_ref().is_none_or(|p| p.starts_with('/') && p.len() <= 4096 && !p.contains("/.."))
        };
        let image = &self.image;
        refuse(
            image.is_empty() || image.len() > 1024 || image.bytes().any(|b| !b.is_ascii_graphic()),
            "image",
            "must be the name of a container image",
        );
        refuse(self.ports.len() > 32, "ports", "at most 32 ports");
        refuse(self.public_port().is_none(), "ports", "one port must be `is_public`");
        refuse(!self.ports.iter().any(|p| p.is_probe), "ports", "one port must be `is_probe`");
        for (i, port) in self.ports.iter().enumerate() {
            refuse(port.port == 0, &format!("ports/{i}/port"), "must be between 1 and 65535");
            refuse(
                (port.is_probe || port.is_public) && port.protocol != Protocol::Tcp,
                &format!("ports/{i}/protocol"),
                "a public or a probe port must be TCP",
            );
            refuse(
                !port.base_url.is_empty() && !port.base_url.starts_with('/') || port.base_url.len() > 1024,
                &format!("ports/{i}/base_url"),
                "must be a path",
            );
        }
        let words =
            |words: &[String], most| words.len() <= most && words.iter().all(|w| w.len() <= 32 * 1024);
        refuse(!words(&self.command, 64), "command", "at most 64 words of at most 32 KiB");
        refuse(!words(&self.args, 256), "args", "at most 256 words of at most 32 KiB");
        refuse(!absolute(&self.working_dir), "working_dir", "must be an absolute path");
        refuse(!absolute(&self.storage_mount_path), "storage_mount_path", "must be an absolute path");
        refuse(
            self.shm_size_mib.is_some_and(|mib| !(1..=16_777_216).contains(&mib)),
            "shm_size_mib",
            "must be between 1 and 16777216",
        );
        refuse(
            self.runtime_class_name.as_ref().is_some_and(|n| n.is_empty() || n.len() > 253),
            "runtime_class_name",
            "must be the name of a runtime class",
        );
        refuse(
            !(0..=3600).contains(&self.termination_grace_period_seconds),
            "termination_grace_period_seconds",
            "must be between 0 and 3600",
        );
        refuse(
            !(1..=86400).contains(&self.start_timeout_seconds),
            "start_timeout_seconds",
            "must be between 1 and 86400",
        );
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_are_checked() {
        let env = |names: &[&str]| {
            let env: Vec<_> =
                names.iter().map(|n| EnvVar { name: (*n).to_owned(), value: String::new() }).collect();
            check_env("/env", &env).into_iter().map(|e| e.pointer).collect::<Vec<_>>()
        };
        assert_eq!(env(&["A", "_b", "C9"]), Vec::<String>::new());
        assert_eq!(
            env(&["", "9A", "A B", "A=B", "ATELIER_X", "A", "A"]),
            ["/env/0/name", "/env/1/name", "/env/2/name", "/env/3/name", "/env/4/name", "/env/6/name"]
        );
        assert_eq!(env(&["é"]), ["/env/0/name"]);
    }

    #[test]
    fn a_variables_value_is_not_in_its_debug_form() {
        let variable = EnvVar { name: "TOKEN".into(), value: "hunter2".into() };
        assert!(!format!("{variable:?}").contains("hunter2"));
    }
}
