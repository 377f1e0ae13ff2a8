//! Images of tenants' own, instead of a service of the catalogue: what is requested, and how such an image is run. Pure.

use ids::{ImageId, RegistryCredentialId};
use problem::{Checks, text};
use serde::{Deserialize, Serialize};
use units::{Protocol, Trust};
use utoipa::ToSchema;

use super::{
    model::Instance,
    parts::{Order, Pull},
    refusal::Refusal,
};
use crate::catalogue::{ServiceImage, Template, TemplatePort, check_reference, registry_of};

/// The service of an order for an own image. No service of the catalogue has a space in its name.
const SERVICE: &str = "own image";
/// Seconds between the termination signal and the kill.
const GRACE_SECONDS: i64 = 10;
/// Seconds after which a start fails if the readiness probe has not passed.
const START_SECONDS: i64 = 600;

/// An image of the tenant's own, and how it is run. The container runs as an ordinary user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceImage, example = json!({
    "reference": "ghcr.io/acme/flux:1", "ports": [{ "port": 8188, "is_public": true }], "storage_mount_path": "/data",
}))]
pub struct OwnImage {
    /// Reference: `[registry/]name[:tag][@digest]`, with a tag or a digest. The cluster has to be able to pull it.
    reference: String,
    /// Id of the registry credential for pulling it (`GET /v1/registry-credentials`). It must be for the registry in
    /// `reference`. If absent, the newest one for that registry is used, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_credential: Option<RegistryCredentialId>,
    /// Ports, all TCP. At least one is public.
    ports: Vec<OwnImagePort>,
    /// Entry point. That of the image if empty.
    #[serde(default)]
    command: Vec<String>,
    /// Arguments. Those of the image if empty.
    #[serde(default)]
    args: Vec<String>,
    /// Working directory. That of the image if absent.
    #[serde(default)]
    working_dir: Option<String>,
    /// Mount path of storages without a `mount_path`.
    #[serde(default)]
    storage_mount_path: Option<String>,
}

/// A port of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceImagePort)]
pub(crate) struct OwnImagePort {
    /// Port number.
    #[schema(minimum = 1)]
    port: u16,
    /// What people open at this port, for example `ComfyUI`: 1 to 100 characters. Unless the order names `public_ports`, each port
    /// with a title gets a host name.
    #[serde(default, deserialize_with = "text::optional_nfc", skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Whether the instance's URL leads to this port.
    #[serde(default)]
    is_public: bool,
    /// Whether the readiness probe connects to this port. If no port has it, the probe connects to the public one.
    #[serde(default)]
    is_probe: bool,
    /// Path of the readiness probe's GET request. If empty, the probe only connects.
    #[serde(default)]
    base_url: String,
}

impl OwnImage {
    /// Checks the image at `/image`.
    pub fn check(&self, checks: &mut Checks) {
        if let Err(why) = check_reference(&self.reference) {
            checks.refuse("/image/reference", why);
        }
        self.template().check_run(checks, "/image");
    }

    /// How it is run.
    fn template(&self) -> Template {
        let has_probe = self.ports.iter().any(|port| port.is_probe);
        let public = self.ports.iter().position(|port| port.is_public);
        let ports = self.ports.iter().enumerate().map(|(i, port)| TemplatePort {
            port: port.port,
            protocol: Protocol::Tcp,
            title: port.title.clone(),
            is_public: port.is_public,
            is_probe: port.is_probe || (!has_probe && public == Some(i)),
            base_url: port.base_url.clone(),
        });
        Template {
            image: self.reference.clone(),
            ports: ports.collect(),
            env: Vec::new(),
            command: self.command.clone(),
            args: self.args.clone(),
            working_dir: self.working_dir.clone(),
            storage_mount_path: self.storage_mount_path.clone(),
            // only administrators let a container run as root, or in another runtime
            root_inside: false,
            runtime_class_name: None,
            shm_size_mib: None,
            termination_grace_period_seconds: GRACE_SECONDS,
            start_timeout_seconds: START_SECONDS,
        }
    }

    /// Returns what is ordered.
    pub fn software(&self) -> Software {
        Software {
            service: SERVICE.to_owned(),
            version: self.reference.clone(),
            image_id: ImageId::new(),
            template: self.template(),
            pull: Some(self.pull()),
        }
    }

    /// Returns the registry and credential for the pull.
    pub fn pull(&self) -> Pull {
        Pull { registry: registry_of(&self.reference), credential: self.registry_credential }
    }

    /// The last part of its name.
    pub fn short_name(&self) -> &str {
        let last =
            self.reference.split('@').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        last.split(':').next().unwrap_or_default()
    }
}

impl Order {
    /// Whether it is for an image of the tenant's own.
    pub fn has_own_image(&self) -> bool {
        self.service == SERVICE
    }

    /// Whether code of the platform or of a tenant runs.
    pub fn trust(&self) -> Trust {
        if self.has_own_image() || self.runs_tenant_code { Trust::Tenant } else { Trust::Platform }
    }

    /// Returns the image of the tenant's own.
    pub fn own_image(&self) -> Option<OwnImage> {
        let template = self.has_own_image().then_some(&self.template)?;
        let ports = template.ports.iter().map(|port| OwnImagePort {
            port: port.port,
            title: port.title.clone(),
            is_public: port.is_public,
            is_probe: port.is_probe,
            base_url: port.base_url.clone(),
        });
        Some(OwnImage {
            reference: template.image.clone(),
            registry_credential: self.pull.as_ref().and_then(|pull| pull.credential),
            ports: ports.collect(),
            command: template.command.clone(),
            args: template.args.clone(),
            working_dir: template.working_dir.clone(),
            storage_mount_path: template.storage_mount_path.clone(),
        })
    }
}

impl Instance {
    /// # Errors
    /// If the registry credential that the user has chosen was deleted.
    pub fn check_pull_credential(&self) -> Result<(), Refusal> {
        let chosen = self.order.pull.as_ref().and_then(|pull| pull.credential);
        match (chosen, self.pull_credential) {
            (Some(_), None) => Err(Refusal::RegistryCredentialMissing),
            _ => Ok(()),
        }
    }
}

/// The image to run, and how to run it.
pub struct Software {
    pub service: String,
    pub version: String,
    pub image_id: ImageId,
    pub template: Template,
    /// Registry and credential of an image of the tenant's own.
    pub pull: Option<Pull>,
}

impl From<ServiceImage> for Software {
    fn from(image: ServiceImage) -> Self {
        let ServiceImage { id: image_id, service, version, template, .. } = image;
        Self { service, version, image_id, template, pull: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn image(value: Value) -> OwnImage {
        serde_json::from_value(value).unwrap()
    }

    fn errors(value: Value) -> Vec<String> {
        let mut checks = Checks::default();
        image(value).check(&mut checks);
        checks.into_errors().into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn the_probe_connects_to_the_public_port_unless_another_one_is_named() {
        let probes = |ports: Value| -> Vec<u16> {
            let template = image(json!({ "reference": "a:1", "ports": ports })).template();
            template.ports.iter().filter(|port| port.is_probe).map(|port| port.port).collect()
        };
        assert_eq!(probes(json!([{ "port": 1 }, { "port": 2, "is_public": true }])), [2]);
        assert_eq!(probes(json!([{ "port": 1, "is_probe": true }, { "port": 2, "is_public": true }])), [1]);
    }

    #[test]
    fn an_image_is_checked_like_a_template() {
        let ports = json!([{ "port": 80, "is_public": true }]);
        assert_eq!(errors(json!({ "reference": "a:1", "ports": ports })), [""; 0]);
        for (value, pointer) in [
            (json!({ "reference": "a", "ports": ports }), "/image/reference"),
            (json!({ "reference": "a:1", "ports": ports, "working_dir": "x" }), "/image/working_dir"),
            (
                json!({ "reference": "a:1", "ports": ports, "storage_mount_path": "/../x" }),
                "/image/storage_mount_path",
            ),
            (
                json!({ "reference": "a:1", "ports": [{ "port": 0, "is_public": true }] }),
                "/image/ports/0/port",
            ),
        ] {
            assert_eq!(errors(value), [pointer]);
        }
        assert!(errors(json!({ "reference": "a:1", "ports": [] })).contains(&"/image/ports".to_owned()));
    }

    #[test]
    fn nothing_in_it_gives_more_rights() {
        let template =
            image(json!({ "reference": "a:1", "ports": [{ "port": 80, "is_public": true }] })).template();
        assert!(!template.root_inside && template.runtime_class_name.is_none());
        for field in ["root_inside", "runtime_class_name", "shm_size_mib", "env", "trust"] {
            let value = json!({ "reference": "a:1", "ports": [], field: true });
            assert!(serde_json::from_value::<OwnImage>(value).is_err(), "{field}");
        }
    }

    #[test]
    fn the_short_name_has_no_registry_and_no_tag() {
        for reference in ["a:1", "ghcr.io/x/a:1", "localhost:5000/a@sha256:00", "x/a:1@sha256:00"] {
            assert_eq!(
                image(json!({ "reference": reference, "ports": [] })).short_name(),
                "a",
                "{reference}"
            );
        }
    }
}
