//! How a service is run, and which templates are valid. Pure.

use std::collections::HashSet;

use problem::{Checks, FieldError, text};
use serde::{Deserialize, Serialize};
use units::Protocol;
use utoipa::ToSchema;

/// How a container image is run. Each instance keeps a copy: a change of the catalogue does not change existing
/// instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceTemplate)]
pub struct Template {
    /// Container image.
    pub image: String,
    /// Ports of the container. One must be public and one must be for the probe; they may be the same.
    pub ports: Vec<TemplatePort>,
    /// Environment variables. Those of the user are added.
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// Entry point. That of the image if empty.
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments. Those of the image if empty.
    #[serde(default)]
    pub args: Vec<String>,
    /// Working directory. That of the image if absent.
    #[serde(default)]
    pub working_dir: Option<String>,
    /// Mount path of the user's storage. Absent if the service uses no storage.
    #[serde(default)]
    pub storage_mount_path: Option<String>,
    /// Whether the container runs as root. It gets a user namespace of its own then.
    #[serde(default)]
    pub root_inside: bool,
    /// Size of `/dev/shm` in MiB.
    #[serde(default)]
    pub shm_size_mib: Option<i64>,
    /// Runtime class. The default of the cluster if absent.
    #[serde(default)]
    pub runtime_class_name: Option<String>,
    /// Seconds between the termination signal and the kill.
    #[serde(default = "default_grace")]
    pub termination_grace_period_seconds: i64,
    /// Seconds after which a start fails if the readiness probe has not passed.
    #[serde(default = "default_start_timeout")]
    pub start_timeout_seconds: i64,
}

fn default_grace() -> i64 {
    10
}

fn default_start_timeout() -> i64 {
    600
}

/// A port of the container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplatePort {
    /// Port number.
    pub port: u16,
    /// Protocol, `TCP` by default.
    #[serde(default)]
    #[schema(value_type = PortProtocol)]
    pub protocol: Protocol,
    /// What people open at this port, for example `Jupyter`: 1 to 100 characters. Instances of the service get a host name for each
    /// TCP port with a title, unless their order names `public_ports`.
    #[serde(default, deserialize_with = "text::optional_nfc", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the instance's URL leads to this port.
    #[serde(default)]
    pub is_public: bool,
    /// Whether the readiness probe connects to this port.
    #[serde(default)]
    pub is_probe: bool,
    /// Path of the readiness probe's GET request. If empty, the probe only connects.
    #[serde(default)]
    pub base_url: String,
}

/// Protocol of a port.
#[derive(ToSchema)]
#[schema(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "the schema of `units::Protocol`, which has none")]
enum PortProtocol {
    Tcp,
    Udp,
    Sctp,
}

/// An environment variable.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    /// Name: letters, digits and `_`, not starting with a digit.
    pub name: String,
    /// Value, used literally. At most 32 KiB.
    #[serde(default)]
    pub value: String,
}

/// Without the value, which may be a secret.
impl std::fmt::Debug for EnvVar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

/// Limit of environment variables.
const MAX_ENV: usize = 100;
/// Limit of bytes in one value.
const MAX_ENV_VALUE: usize = 32 * 1024;
/// Limit of bytes in all names and values.
const MAX_ENV_TOTAL: usize = 128 * 1024;
/// The longest title of a port, in characters.
const MAX_TITLE: usize = 100;
/// Limit of bytes in a path.
const MAX_PATH: usize = 4096;

/// Who names environment variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A user or an administrator.
    User,
    /// Another service of the platform.
    Platform,
}

impl Author {
    /// Prefixes of names that are reserved for the platform, this service and Kubernetes.
    fn reserved(self) -> [&'static str; 2] {
        match self {
            Self::User => ["ATELIER_", "KUBERNETES_"],
            Self::Platform => ["ATELIER_INSTANCE_", "KUBERNETES_"],
        }
    }
}

/// Returns the errors of a list of environment variables at `pointer`.
#[must_use]
pub fn check_env(pointer: &str, env: &[EnvVar], author: Author) -> Vec<FieldError> {
    let variables = env.iter().map(|EnvVar { name, value }| (name.as_str(), value.as_str()));
    check_variables(pointer, variables, author)
}

/// Like [`check_env`], for names and values.
#[must_use]
pub(crate) fn check_variables<'a>(
    pointer: &str,
    variables: impl ExactSizeIterator<Item = (&'a str, &'a str)> + Clone,
    author: Author,
) -> Vec<FieldError> {
    let mut checks = Checks::default();
    checks.require(variables.len() <= MAX_ENV, pointer, format!("must have at most {MAX_ENV} variables"));
    let bytes = variables.clone().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    checks.require(bytes <= MAX_ENV_TOTAL, pointer, format!("must be at most {MAX_ENV_TOTAL} bytes in all"));
    let mut names = HashSet::new();
    for (i, (name, value)) in variables.enumerate().take(MAX_ENV) {
        let at = format!("{pointer}/{i}/name");
        if !is_variable_name(name) {
            checks.refuse(at, "must be 1 to 128 letters, digits and `_`, not starting with a digit");
        } else if author.reserved().iter().any(|prefix| name.starts_with(prefix)) {
            checks.refuse(at, "is reserved for the platform");
        } else if !names.insert(name) {
            checks.refuse(at, "duplicate name");
        }
        checks.require(
            value.len() <= MAX_ENV_VALUE && !value.contains('\0'),
            format!("{pointer}/{i}/value"),
            format!("must be at most {MAX_ENV_VALUE} bytes, without NUL"),
        );
    }
    checks.into_errors()
}

fn is_variable_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Template {
    /// Returns the port that the instance's URL leads to.
    #[must_use]
    pub fn public_port(&self) -> Option<&TemplatePort> {
        self.ports.iter().find(|port| port.is_public)
    }

    /// Checks the template.
    pub fn check(&self, checks: &mut Checks) {
        checks.extend(check_env("/template/env", &self.env, Author::User));
        let image = &self.image;
        checks.require(
            (1..=1024).contains(&image.len()) && image.bytes().all(|b| b.is_ascii_graphic()),
            "/template/image",
            "must be the name of a container image",
        );
        self.check_run(checks, "/template");
    }

    /// Checks how the image is run; the fields are at `at`.
    pub(crate) fn check_run(&self, checks: &mut Checks, at: &str) {
        let field = |name: &str| format!("{at}/{name}");
        self.check_ports(checks, &field("ports"));
        check_words(checks, &field("command"), &self.command, 64);
        check_words(checks, &field("args"), &self.args, 256);
        check_path(checks, &field("working_dir"), self.working_dir.as_deref());
        check_path(checks, &field("storage_mount_path"), self.storage_mount_path.as_deref());
        checks.require(
            self.runtime_class_name.as_ref().is_none_or(|name| (1..=253).contains(&name.len())),
            field("runtime_class_name"),
            "must be the name of a runtime class",
        );
        checks.within(&field("shm_size_mib"), self.shm_size_mib.unwrap_or(1), 1, 16_777_216);
        checks.within(
            &field("termination_grace_period_seconds"),
            self.termination_grace_period_seconds,
            0,
            3600,
        );
        checks.within(&field("start_timeout_seconds"), self.start_timeout_seconds, 1, 86_400);
    }

    fn check_ports(&self, checks: &mut Checks, pointer: &str) {
        checks.require(self.ports.len() <= 32, pointer, "must have at most 32 ports");
        checks.require(self.public_port().is_some(), pointer, "one port must be `is_public`");
        checks.require(self.ports.iter().any(|port| port.is_probe), pointer, "one port must be `is_probe`");
        for (i, port) in self.ports.iter().enumerate() {
            let at = format!("{pointer}/{i}");
            checks.require(port.port != 0, format!("{at}/port"), "must be between 1 and 65535");
            checks.require(
                port.protocol == Protocol::Tcp || !(port.is_probe || port.is_public),
                format!("{at}/protocol"),
                "a public port or a probe port must be TCP",
            );
            let path = &port.base_url;
            checks.require(
                path.is_empty() || path.starts_with('/') && path.len() <= 1024,
                format!("{at}/base_url"),
                "must be a path",
            );
            check_title(checks, &format!("{at}/title"), port.title.as_deref());
        }
    }

    /// Returns the title of a port.
    pub fn title(&self, port: u16) -> Option<&str> {
        self.ports.iter().find(|known| known.port == port)?.title.as_deref()
    }
}

/// Checks the title of a port.
pub(crate) fn check_title(checks: &mut Checks, pointer: &str, title: Option<&str>) {
    if let Some(title) = title {
        checks.display_name(pointer, title, MAX_TITLE);
    }
}

fn check_words(checks: &mut Checks, pointer: &str, words: &[String], most: usize) {
    checks.require(
        words.len() <= most && words.iter().all(|word| word.len() <= MAX_ENV_VALUE),
        pointer,
        format!("must have at most {most} words of at most {MAX_ENV_VALUE} bytes"),
    );
}

fn check_path(checks: &mut Checks, pointer: &str, path: Option<&str>) {
    let valid =
        path.is_none_or(|path| path.starts_with('/') && path.len() <= MAX_PATH && !path.contains("/.."));
    checks.require(valid, pointer, "must be an absolute path");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Template {
        Template {
            image: "shell:1".into(),
            ports: vec![port(80)],
            env: vec![],
            command: vec![],
            args: vec![],
            working_dir: None,
            storage_mount_path: None,
            root_inside: false,
            shm_size_mib: None,
            runtime_class_name: None,
            termination_grace_period_seconds: 10,
            start_timeout_seconds: 600,
        }
    }

    fn port(port: u16) -> TemplatePort {
        TemplatePort {
            port,
            protocol: Protocol::Tcp,
            title: None,
            is_public: true,
            is_probe: true,
            base_url: String::new(),
        }
    }

    /// The pointers of the errors after a change of a valid template.
    fn errors(change: impl FnOnce(&mut Template)) -> Vec<String> {
        let (mut template, mut checks) = (template(), Checks::default());
        change(&mut template);
        template.check(&mut checks);
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn names_of_variables_are_checked() {
        let env_of = |author: Author, names: &[&str]| {
            let env: Vec<_> =
                names.iter().map(|name| EnvVar { name: (*name).to_owned(), value: String::new() }).collect();
            check_env("/env", &env, author).into_iter().map(|error| error.pointer).collect::<Vec<_>>()
        };
        let env = |names: &[&str]| env_of(Author::User, names);
        assert_eq!(env(&["A", "_b", "C9", &"x".repeat(128)]), Vec::<String>::new());
        assert_eq!(
            env(&["", "9A", "A B", "A=B", "ATELIER_X", "A", "A", "KUBERNETES_X", "é", &"x".repeat(129)]),
            [0, 1, 2, 3, 4, 6, 7, 8, 9].map(|i| format!("/env/{i}/name"))
        );
        let names = ["ATELIER_X", "ATELIER_INSTANCE_URL", "KUBERNETES_X"];
        assert_eq!(env_of(Author::Platform, &names), ["/env/1/name", "/env/2/name"]);
    }

    #[test]
    fn the_size_of_an_environment_is_limited() {
        let variable = |i: usize, bytes| EnvVar { name: format!("V{i}"), value: "x".repeat(bytes) };
        let pointers = |env: Vec<EnvVar>| -> Vec<String> {
            check_env("/env", &env, Author::User).into_iter().map(|error| error.pointer).collect()
        };
        assert_eq!(pointers((0..MAX_ENV).map(|i| variable(i, 0)).collect()), [""; 0]);
        assert_eq!(pointers((0..=MAX_ENV).map(|i| variable(i, 0)).collect()), ["/env"]);
        assert_eq!(pointers(vec![variable(0, MAX_ENV_VALUE)]), [""; 0]);
        assert_eq!(pointers(vec![variable(0, MAX_ENV_VALUE + 1)]), ["/env/0/value"]);
        let exact = (0..4).map(|i| variable(i, MAX_ENV_VALUE - 2)).collect();
        assert_eq!(pointers(exact), [""; 0]);
        let more = (0..4).map(|i| variable(i, MAX_ENV_VALUE - 1)).collect();
        assert_eq!(pointers(more), ["/env"]);
    }

    #[test]
    fn a_valid_template_has_no_errors() {
        assert_eq!(errors(|_| {}), [""; 0]);
        assert_eq!(
            errors(|template| {
                template.image = "x".repeat(1024);
                template.ports = vec![port(1); 32];
                template.ports[0].base_url = format!("/{}", "x".repeat(1023));
                template.ports[1] = TemplatePort {
                    protocol: Protocol::Udp,
                    is_public: false,
                    is_probe: false,
                    ..port(65535)
                };
                template.command = vec![String::new(); 64];
                template.args = vec!["x".repeat(MAX_ENV_VALUE); 256];
                template.working_dir = Some(format!("/{}", "x".repeat(MAX_PATH - 1)));
                template.shm_size_mib = Some(16_777_216);
                template.runtime_class_name = Some("x".repeat(253));
                template.termination_grace_period_seconds = 0;
                template.start_timeout_seconds = 86_400;
            }),
            [""; 0]
        );
    }

    #[test]
    fn an_invalid_template_is_refused_with_the_pointer() {
        type Change = fn(&mut Template);
        let cases: [(&str, Change); 26] = [
            ("/template/image", |t| t.image.clear()),
            ("/template/image", |t| t.image = "x".repeat(1025)),
            ("/template/image", |t| t.image = "a b".into()),
            ("/template/ports", |t| t.ports = vec![port(1); 33]),
            ("/template/ports", |t| t.ports[0].is_public = false),
            ("/template/ports", |t| t.ports[0].is_probe = false),
            ("/template/ports/0/port", |t| t.ports[0].port = 0),
            ("/template/ports/0/base_url", |t| t.ports[0].base_url = "x".into()),
            ("/template/ports/0/base_url", |t| t.ports[0].base_url = format!("/{}", "x".repeat(1024))),
            ("/template/ports/0/protocol", |t| t.ports[0].protocol = Protocol::Udp),
            ("/template/ports/0/title", |t| t.ports[0].title = Some(String::new())),
            ("/template/ports/0/title", |t| t.ports[0].title = Some("x".repeat(101))),
            ("/template/ports/1/protocol", |t| {
                t.ports.push(TemplatePort { protocol: Protocol::Sctp, is_probe: false, ..port(2) });
            }),
            ("/template/ports/1/protocol", |t| {
                t.ports.push(TemplatePort { protocol: Protocol::Udp, is_public: false, ..port(2) });
            }),
            ("/template/command", |t| t.command = vec![String::new(); 65]),
            ("/template/command", |t| t.command = vec!["x".repeat(MAX_ENV_VALUE + 1)]),
            ("/template/args", |t| t.args = vec![String::new(); 257]),
            ("/template/working_dir", |t| t.working_dir = Some("relative".into())),
            ("/template/working_dir", |t| t.working_dir = Some(format!("/{}", "x".repeat(MAX_PATH)))),
            ("/template/storage_mount_path", |t| t.storage_mount_path = Some("/a/../b".into())),
            ("/template/runtime_class_name", |t| t.runtime_class_name = Some(String::new())),
            ("/template/runtime_class_name", |t| t.runtime_class_name = Some("x".repeat(254))),
            ("/template/shm_size_mib", |t| t.shm_size_mib = Some(0)),
            ("/template/shm_size_mib", |t| t.shm_size_mib = Some(16_777_217)),
            ("/template/termination_grace_period_seconds", |t| t.termination_grace_period_seconds = 3601),
            ("/template/start_timeout_seconds", |t| t.start_timeout_seconds = 86_401),
        ];
        for (i, (pointer, change)) in cases.into_iter().enumerate() {
            assert_eq!(errors(change), [pointer], "case {i}");
        }
        assert_eq!(
            errors(|t| t.env = vec![EnvVar { name: "9".into(), value: String::new() }]),
            ["/template/env/0/name"]
        );
    }

    #[test]
    fn the_debug_form_of_a_variable_has_no_value() {
        let variable = EnvVar { name: "TOKEN".into(), value: "hunter2".into() };
        assert_eq!(format!("{variable:?}"), "TOKEN=…");
    }
}
