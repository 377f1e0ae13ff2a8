//! The configuration file of each process.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::secrets::Secrets;
use crate::config::Config;

/// The database. Each service has a schema in it.
pub(crate) const DATABASE: &str = "atelier";

/// A datacenter with its cluster, which has the same name, and its operator.
#[derive(Debug, Clone)]
pub(crate) struct Datacenter {
    pub(crate) name: &'static str,
    /// Names of the processes.
    pub(crate) cluster: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) cluster_port: u16,
    pub(crate) operator_port: u16,
    /// A cluster that others run: its kubeconfig. None for a development cluster of this platform.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Port on which the platform's programs reach its cluster, if it is not the cluster's own.
    pub(crate) through: Option<u16>,
    /// Folder of the cluster in the data folder.
    folder: &'static str,
    pub(crate) nodes: &'static [&'static str],
}

/// The first `count` datacenters, the first of them on the cluster of `kubeconfig` if there is one.
pub(crate) fn datacenters(config: &Config, count: usize, kubeconfig: Option<PathBuf>) -> Vec<Datacenter> {
    let first = Datacenter {
        name: "dev-1",
        cluster: "devcluster",
        operator: "operator",
        cluster_port: config.ports.cluster,
        operator_port: config.ports.operator,
        kubeconfig,
        through: None,
        folder: "cluster",
        nodes: &["node-1"],
    };
    let second = Datacenter {
        name: "dev-2",
        cluster: "devcluster-2",
        operator: "operator-2",
        cluster_port: config.ports.cluster_2,
        operator_port: config.ports.operator_2,
        kubeconfig: None,
        through: None,
        folder: "cluster-2",
        nodes: &["node-2"],
    };
    [first, second].into_iter().take(count).collect()
}

/// The development cluster of a datacenter.
pub(crate) fn cluster(datacenter: &Datacenter, data: &Path, programs: &Path) -> String {
    let nodes: String = datacenter.nodes.iter().map(|node| self::node(node, datacenter.name)).collect();
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "{data}/{folder}"

{nodes}# the operator's placeholders
[[images]]
pattern = "registry.k8s.io/pause:*"

[[images]]
pattern = "atelier/webui:*"
entrypoint = ["{programs}/atelier-webui", "--lora-dir", "storage/models/Lora"]

# downloads files onto volumes
[[images]]
pattern = "atelier/fetch:*"
entrypoint = ["{programs}/atelier-fetch"]

# a worker of jobs, which starts its engine; the adapters of both are in the working directory
[[images]]
pattern = "atelier/worker-webui:*"
entrypoint = [
    "/bin/sh", "-c",
    "exec '{programs}/atelier-runner' --engine-url http://$POD_IP:7860 -- '{programs}/atelier-webui' --lora-dir loras",
]
env = {{ ATELIER_LORA_DIR = "loras", ATELIER_TRAINER_COMMAND = "{programs}/atelier-trainer" }}
"#,
        port = datacenter.cluster_port,
        folder = datacenter.folder,
        data = data.display(),
        programs = programs.display(),
    )
}

fn node(name: &str, datacenter: &str) -> String {
    format!(
        r#"[[nodes]]
name = "{name}"
cpu = "128"
memory = "512Gi"
ephemeral_storage = "4Ti"
pods = 500
extended = {{ "nvidia.com/gpu" = 32 }}
labels = {{ "atelier.dev/datacenter" = "{datacenter}" }}

"#
    )
}

/// The object store.
pub(crate) fn object_store(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "{data}/objects"
admin_access_key = "{access}"
admin_secret_key = "{secret}"
region = "default"
"#,
        port = config.ports.object_store,
        data = data.display(),
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
    )
}

/// A service, by name.
pub(crate) fn service(
    name: &str,
    config: &Config,
    datacenters: &[Datacenter],
    data: &Path,
    secrets: &Secrets,
) -> String {
    let clusters = &clusters(datacenters, data);
    match name {
        "identity" => with_callers(
            &identity(config, secrets),
            &[
                ("gateway", &secrets.gateway_token),
                ("gpu", &secrets.gpu_token),
                ("stock", &secrets.stock_token),
                ("storage", &secrets.storage_token),
                ("jobs", &secrets.jobs_token),
            ],
        ),
        "stock" => with_callers(
            &stock(config, clusters, secrets),
            &[("gpu", &secrets.gpu_token), ("jobs", &secrets.jobs_token)],
        ),
        "storage" => with_callers(
            &storage(config, clusters, secrets),
            &[
                ("gpu", &secrets.gpu_token),
                ("identity", &secrets.identity_token),
                ("jobs", &secrets.jobs_token),
            ],
        ),
        "jobs" => with_callers(&jobs(config, secrets), &[("identity", &secrets.identity_token)]),
        "gpu" => with_callers(
            &gpu(config, clusters, secrets),
            &[
                ("gateway", &secrets.gateway_token),
                ("identity", &secrets.identity_token),
                ("jobs", &secrets.jobs_token),
                ("storage", &secrets.storage_token),
            ],
        ),
        other => unreachable!("{other} is not a service"),
    }
}

fn with_callers(text: &str, callers: &[(&str, &String)]) -> String {
    let lines: Vec<_> = callers.iter().map(|(name, token)| format!("{name} = \"{token}\"")).collect();
    format!("{text}\n[callers]\n{}\n", lines.join("\n"))
}

/// The issuer of access tokens, and where a service with this token reads their revocations.
pub(super) fn revocable(config: &Config, token: &str) -> String {
    format!(
        r#"{}
[auth.revocations]
url = "http://127.0.0.1:{}"
token = "{token}"
"#,
        auth(config),
        config.ports.identity
    )
}

/// The issuer of access tokens.
fn auth(config: &Config) -> String {
    let ports = &config.ports;
    format!(
        r#"[auth]
issuer = "http://localhost:{}"
jwks_url = "http://127.0.0.1:{}/.well-known/jwks.json"
"#,
        ports.gateway, ports.identity
    )
}

fn database(config: &Config, secrets: &Secrets) -> String {
    let password = &secrets.database_password;
    format!(
        r#"[database]
url = "postgres://127.0.0.1:{}/{DATABASE}"
app_password = "{password}"
worker_password = "{password}"
owner_password = "{password}"
"#,
        config.ports.postgres
    )
}

/// The kubeconfig of a datacenter's cluster.
pub(crate) fn kubeconfig(datacenter: &Datacenter, data: &Path) -> PathBuf {
    datacenter.kubeconfig.clone().unwrap_or_else(|| data.join(datacenter.folder).join("kubeconfig"))
}

/// The kubeconfig of the platform's programs.
fn clients_kubeconfig(datacenter: &Datacenter, data: &Path) -> PathBuf {
    match datacenter.through {
        Some(_) => data.join(format!("config/{}.kubeconfig", datacenter.cluster)),
        None => kubeconfig(datacenter, data),
    }
}

/// Writes the kubeconfig of the platform's programs, if it is not that of the cluster.
pub(crate) fn write_clients_kubeconfig(datacenter: &Datacenter, data: &Path) -> anyhow::Result<()> {
    let Some(port) = datacenter.through else { return Ok(()) };
    let token = administrators_token(datacenter, data)?;
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster:\n    \
         server: http://127.0.0.1:{port}\ncontexts:\n- name: c\n  context:\n    cluster: c\n    user: u\n\
         users:\n- name: u\n  user:\n    token: {token}\n"
    );
    super::secrets::write_private(&clients_kubeconfig(datacenter, data), text.as_bytes())
}

/// The token of a development cluster's administrator.
pub(crate) fn administrators_token(datacenter: &Datacenter, data: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(kubeconfig(datacenter, data))?;
    let read: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text)?;
    let token = read["users"][0]["user"]["token"].as_str();
    Ok(token.context("no token in the kubeconfig of the cluster")?.to_owned())
}

fn clusters(datacenters: &[Datacenter], data: &Path) -> String {
    let cluster = |datacenter: &Datacenter| {
        let file = clients_kubeconfig(datacenter, data);
        format!("[clusters.{}]\nkubeconfig = \"{}\"\n", datacenter.name, file.display())
    };
    datacenters.iter().map(cluster).collect::<Vec<_>>().join("\n")
}

/// `atelier-admin`. The superuser of a Postgres that `up` has started.
pub(crate) fn admin(config: &Config, datacenters: &[Datacenter], data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"[database]
url = "postgres://127.0.0.1:{postgres}/{DATABASE}"
reader_password = "{reader}"

[database.superuser]
user = "postgres"
password = "{superuser}"

[object_store]
endpoint = "http://127.0.0.1:{objects}"
access_key = "{access}"
secret_key = "{secret}"

[[encryption_keys.identity]]
id = "1"
key = "{identity}"

[[encryption_keys.gpu]]
id = "1"
key = "{gpu}"

[[encryption_keys.jobs]]
id = "1"
key = "{jobs}"

{clusters}"#,
        postgres = config.ports.postgres,
        reader = secrets.database_password,
        superuser = secrets.postgres_password,
        objects = config.ports.object_store,
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
        identity = secrets.encryption_key,
        gpu = secrets.gpu_encryption_key,
        jobs = secrets.jobs_encryption_key,
        clusters = clusters(datacenters, data),
    )
}

fn identity(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
public_url = "http://localhost:{gateway}"

[passkeys]
rp_id = "localhost"

[[encryption_keys]]
id = "1"
key = "{key}"

[bootstrap_admin]
email = "{email}"
password = "{password}"

[participants]
gpu = {{ url = "http://127.0.0.1:{gpu}", token = "{token}" }}
storage = {{ url = "http://127.0.0.1:{storage}", token = "{token}" }}
jobs = {{ url = "http://127.0.0.1:{jobs}", token = "{token}" }}

{database}
{auth}"#,
        port = config.ports.identity,
        gateway = config.ports.gateway,
        gpu = config.ports.gpu,
        storage = config.ports.storage,
        jobs = config.ports.jobs,
        token = secrets.identity_token,
        key = secrets.encryption_key,
        email = super::ADMINISTRATOR,
        password = secrets.administrator_password,
        database = database(config, secrets),
        auth = auth(config),
    )
}

fn stock(config: &Config, clusters: &str, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

{clusters}
{database}
{auth}"#,
        port = config.ports.stock,
        database = database(config, secrets),
        auth = revocable(config, &secrets.stock_token),
    )
}

fn storage(config: &Config, clusters: &str, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[gpu]
url = "http://127.0.0.1:{gpu}"
token = "{token}"

{clusters}
[object_store]
endpoint = "http://127.0.0.1:{objects}"
access_key = "{access}"
secret_key = "{secret}"
allowed_origins = ["http://localhost:{gateway}"]

{database}
{auth}"#,
        port = config.ports.storage,
        gateway = config.ports.gateway,
        gpu = config.ports.gpu,
        token = secrets.storage_token,
        objects = config.ports.object_store,
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
        database = database(config, secrets),
        auth = revocable(config, &secrets.storage_token),
    )
}

fn jobs(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
worker_listen = "127.0.0.1:{workers}"

[[encryption_keys]]
id = "1"
key = "{key}"

[webhooks]
allow_http = true
allow_private = true

[storage]
url = "http://127.0.0.1:{storage}"
token = "{token}"

{database}
{auth}"#,
        port = config.ports.jobs,
        workers = config.ports.jobs_workers,
        key = secrets.jobs_encryption_key,
        storage = config.ports.storage,
        token = secrets.jobs_token,
        database = database(config, secrets),
        auth = revocable(config, &secrets.jobs_token),
    )
}

/// Workers that the jobs service runs as instances, also on units that nobody else uses.
pub(super) fn fleet(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"
[fleet]
jobs_url = "http://127.0.0.1:{workers}"

[fleet.gpu]
url = "http://127.0.0.1:{gpu}"
token = "{token}"

[stock]
url = "http://127.0.0.1:{stock}"
token = "{token}"
"#,
        workers = config.ports.jobs_workers,
        gpu = config.ports.gpu,
        stock = config.ports.stock,
        token = secrets.jobs_token,
    )
}

/// The message broker of the jobs service.
pub(super) fn mq(config: &Config, url: &str, management_url: &str) -> String {
    format!(
        r#"
[mq]
url = "{url}"
auth_listen = "127.0.0.1:{auth}"
public_url = "{public}"
management_url = "{management_url}"
"#,
        auth = config.ports.jobs_broker,
        public = super::broker::public_url(config),
    )
}

fn gpu(config: &Config, clusters: &str, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[[encryption_keys]]
id = "1"
key = "{key}"

[stock]
url = "http://127.0.0.1:{stock}"
token = "{token}"

[storage]
url = "http://127.0.0.1:{storage}"
token = "{token}"

[identity]
url = "http://127.0.0.1:{identity}"
token = "{token}"

[apps]
scheme = "http"
domain = "{domain}"
port = {gateway}

[ssh]
listen = "127.0.0.1:{ssh}"
host = "localhost"

[ssh.identity]
url = "http://127.0.0.1:{identity}"
token = "{token}"

[log_archive]
endpoint = "http://127.0.0.1:{objects}"
bucket = "atelier-logs"
access_key = "{access}"
secret_key = "{secret}"

{clusters}
{database}
{auth}"#,
        port = config.ports.gpu,
        key = secrets.gpu_encryption_key,
        stock = config.ports.stock,
        storage = config.ports.storage,
        token = secrets.gpu_token,
        domain = config.apps_domain,
        gateway = config.ports.gateway,
        ssh = config.ports.ssh,
        identity = config.ports.identity,
        objects = config.ports.object_store,
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
        database = database(config, secrets),
        auth = revocable(config, &secrets.gpu_token),
    )
}

/// The operator of a datacenter.
pub(crate) fn operator(datacenter: &Datacenter, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
kubeconfig = "{kubeconfig}"
# a fixed identity takes its own lease again after a crash
identity = "operator-1"

[callers]
scripts = "{token}"

# this machine has no isolated runtime, and no tenants but its developer's
[settings.tenant_code]
accept_default_runtime = true
"#,
        port = datacenter.operator_port,
        kubeconfig = clients_kubeconfig(datacenter, data).display(),
        token = secrets.operator_token,
    )
}
