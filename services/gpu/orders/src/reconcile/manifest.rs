//! The instance as it is written into a unit's spec. Pure.

use crds::{EnvVar, Port, Volume};
use gpu_core::instance::Instance;
use ids::TenantId;

/// Name of the volume with the user's first storage; the others have a number too.
const STORAGE_VOLUME: &str = "storage";

/// Environment variable with the instance's URL.
const URL_VARIABLE: &str = "ATELIER_INSTANCE_URL";

/// Returns the desired state of `instance` at its `url`.
#[must_use]
pub(super) fn desired(instance: &Instance, url: &str) -> crds::Instance {
    let template = &instance.order.template;
    // a user's variable or secret replaces the template's
    let mut env: Vec<EnvVar> = Vec::new();
    for variable in template.env.iter().chain(&instance.order.env) {
        env.retain(|present| present.name != variable.name);
        env.push(EnvVar { name: variable.name.clone(), value: variable.value.clone() });
    }
    env.retain(|variable| instance.secrets.iter().all(|secret| secret.name != variable.name));
    env.push(EnvVar { name: URL_VARIABLE.to_owned(), value: url.to_owned() });
    let volumes = instance
        .order
        .storages
        .iter()
        .enumerate()
        .filter_map(|(n, mount)| {
            let name = if n == 0 { STORAGE_VOLUME.to_owned() } else { format!("{STORAGE_VOLUME}-{n}") };
            Some(Volume {
                name,
                mount_path: mount.mount_path.clone(),
                read_only: mount.read_only,
                storage: Some(instance.attached.get(&mount.storage_id)?.object_name.clone()),
            })
        })
        .collect();
    crds::Instance {
        id: instance.id.k8s_name(),
        attempt: instance.attempt,
        restart: instance.restart,
        tenant_id: TenantId::k8s_name(instance.tenant),
        tenant_name: String::new(),
        image: template.image.clone(),
        command: template.command.clone(),
        args: template.args.clone(),
        working_dir: template.working_dir.clone(),
        env,
        ports: template
            .ports
            .iter()
            .map(|port| Port {
                port: i32::from(port.port),
                protocol: port.protocol,
                is_public: port.is_public,
                is_probe: port.is_probe,
                base_url: port.base_url.clone(),
            })
            .collect(),
        volumes,
        termination_grace_period_seconds: template.termination_grace_period_seconds,
        shm_size_mib: template.shm_size_mib,
        always_pull: instance.order.has_own_image(),
        pull_secret_name: instance.pull_secret_name(),
        trust: instance.order.trust(),
        runtime_class_name: template.runtime_class_name.clone(),
        root_inside: template.root_inside,
        reaches_peers: instance.order.reaches_peers,
        secret_name: instance.secret_name(),
        start_timeout_seconds: template.start_timeout_seconds,
    }
}
