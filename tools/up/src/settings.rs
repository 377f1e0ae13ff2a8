//! The configuration file of each process.

use std::path::{Path, PathBuf};

use anyhow::Context;
use machine::{
    config::{Config, DATABASE},
    secrets::{self, Secrets},
};

/// A datacenter with its cluster, which has the same name, and its operator.
#[derive(Debug, Clone)]
pub struct Datacenter {
    pub name: &'static str,
    /// Names of the processes.
    pub cluster: &'static str,
    pub operator: &'static str,
    pub cluster_port: u16,
    pub operator_port: u16,
    /// A cluster that others run: its kubeconfig. None for a development cluster of this platform.
    pub kubeconfig: Option<PathBuf>,
    /// Port on which the platform's programs reach its cluster, if it is not the cluster's own.
    pub through: Option<u16>,
    /// Folder of the cluster in the data folder.
    folder: &'static str,
    pub nodes: &'static [&'static str],
}

/// The first `count` datacenters, the first of them on the cluster of `kubeconfig` if there is one.
pub fn datacenters(config: &Config, count: usize, kubeconfig: Option<PathBuf>) -> Vec<Datacenter> {
    let first = Datacenter {
        name: "dev-1",
        cluster: "devcluster",
        operator: "operator",
        cluster_port: config.ports["cluster"],
        operator_port: config.ports["operator"],
        kubeconfig,
        through: None,
        folder: "cluster",
        nodes: &["node-1"],
    };
    let second = Datacenter {
        name: "dev-2",
        cluster: "devcluster-2",
        operator: "operator-2",
        cluster_port: config.ports["cluster_2"],
        operator_port: config.ports["operator_2"],
        kubeconfig: None,
        through: None,
        folder: "cluster-2",
        nodes: &["node-2"],
    };
    [first, second].into_iter().take(count).collect()
}

/// The development cluster of a datacenter.
pub fn cluster(datacenter: &Datacenter, data: &Path, programs: &Path) -> String {
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
pub fn object_store(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "{data}/objects"
admin_access_key = "{access}"
admin_secret_key = "{secret}"
region = "default"
"#,
        port = config.ports["object_store"],
        data = data.display(),
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
    )
}

/// A service, by name.
pub fn service(
    name: &str,
    config: &Config,
    datacenters: &[Datacenter],
    data: &Path,
    secrets: &Secrets,
) -> String {
    let Some(service) = platform::service(name) else { unreachable!("{name} is not a service") };
    let own = match name {
        "identity" => identity(config, secrets),
        "storage" => storage(config, secrets),
        "jobs" => jobs(config),
        "gpu" => gpu(config, secrets),
        _ => String::new(),
    };
    let mut text = format!("listen = \"127.0.0.1:{}\"\n{own}\n", config.ports[name]);
    text.extend(service.endpoints.iter().map(|called| endpoint(called, called, name, config, secrets)));
    if service.encrypts {
        let key = secrets.encryption_key(name);
        text.push_str(&format!("[[encryption_keys]]\nid = \"1\"\nkey = \"{key}\"\n\n"));
    }
    if service.clusters {
        text.push_str(&clusters(datacenters, data));
    }
    text.push_str(&database(config, secrets));
    // identity knows its own revocations
    text.push_str(&if name == "identity" { auth(config) } else { revocable(config, secrets.token(name)) });
    text.push_str("\n[callers]\n");
    text.extend(service.callers().map(|caller| format!("{caller} = \"{}\"\n", secrets.token(caller))));
    text
}

/// A section with the address of a service and the token of the one that calls it.
fn endpoint(section: &str, called: &str, caller: &str, config: &Config, secrets: &Secrets) -> String {
    let (port, token) = (config.ports[called], secrets.token(caller));
    format!("[{section}]\nurl = \"http://127.0.0.1:{port}\"\ntoken = \"{token}\"\n\n")
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
        config.ports["identity"]
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
        ports["gateway"], ports["identity"]
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
        config.ports["postgres"]
    )
}

/// The kubeconfig of a datacenter's cluster.
pub fn kubeconfig(datacenter: &Datacenter, data: &Path) -> PathBuf {
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
pub fn write_clients_kubeconfig(datacenter: &Datacenter, data: &Path) -> anyhow::Result<()> {
    let Some(port) = datacenter.through else { return Ok(()) };
    let token = administrators_token(datacenter, data)?;
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster:\n    \
         server: http://127.0.0.1:{port}\ncontexts:\n- name: c\n  context:\n    cluster: c\n    user: u\n\
         users:\n- name: u\n  user:\n    token: {token}\n"
    );
    secrets::write_private(&clients_kubeconfig(datacenter, data), text.as_bytes())
}

/// The token of a development cluster's administrator.
pub fn administrators_token(datacenter: &Datacenter, data: &Path) -> anyhow::Result<String> {
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
pub fn admin(config: &Config, datacenters: &[Datacenter], data: &Path, secrets: &Secrets) -> String {
    let encrypting = platform::services().iter().filter(|service| service.encrypts);
    let keys = |service: &platform::Service| {
        let (name, key) = (&service.name, secrets.encryption_key(&service.name));
        format!("[[encryption_keys.{name}]]\nid = \"1\"\nkey = \"{key}\"\n\n")
    };
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

{keys}{clusters}"#,
        postgres = config.ports["postgres"],
        reader = secrets.database_password,
        superuser = secrets.postgres_password,
        objects = config.ports["object_store"],
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
        keys = encrypting.map(keys).collect::<String>(),
        clusters = clusters(datacenters, data),
    )
}

fn identity(config: &Config, secrets: &Secrets) -> String {
    let participant = |name: &str| {
        let (port, token) = (config.ports[name], secrets.token("identity"));
        format!("{name} = {{ url = \"http://127.0.0.1:{port}\", token = \"{token}\" }}\n")
    };
    let listed = platform::service("identity").map_or(&[][..], |identity| &identity.calls);
    format!(
        r#"public_url = "http://localhost:{gateway}"

[passkeys]
rp_id = "localhost"

[bootstrap_admin]
email = "{email}"
password = "{password}"

[participants]
{participants}"#,
        gateway = config.ports["gateway"],
        email = super::ADMINISTRATOR,
        password = secrets.administrator_password,
        participants = listed.iter().map(|name| participant(name)).collect::<String>(),
    )
}

fn storage(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"
[object_store]
endpoint = "http://127.0.0.1:{objects}"
access_key = "{access}"
secret_key = "{secret}"
allowed_origins = ["http://localhost:{gateway}"]
"#,
        gateway = config.ports["gateway"],
        objects = config.ports["object_store"],
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
    )
}

fn jobs(config: &Config) -> String {
    format!(
        r#"worker_listen = "127.0.0.1:{workers}"

[webhooks]
allow_http = true
allow_private = true
"#,
        workers = config.ports["jobs_workers"],
    )
}

/// Workers that the jobs service runs as instances, also on otherwise unused units.
pub(super) fn fleet(config: &Config, secrets: &Secrets) -> String {
    format!(
        "\n[fleet]\njobs_url = \"http://127.0.0.1:{}\"\n\n{}{}",
        config.ports["jobs_workers"],
        endpoint("fleet.gpu", "gpu", "jobs", config, secrets),
        endpoint("stock", "stock", "jobs", config, secrets),
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
        auth = config.ports["jobs_broker"],
        public = super::broker::public_url(config),
    )
}

fn gpu(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"
[apps]
scheme = "http"
domain = "{domain}"
port = {gateway}

[ssh]
listen = "127.0.0.1:{ssh}"
host = "localhost"

{ssh_identity}[log_archive]
endpoint = "http://127.0.0.1:{objects}"
bucket = "atelier-logs"
access_key = "{access}"
secret_key = "{secret}"
"#,
        ssh_identity = endpoint("ssh.identity", "identity", "gpu", config, secrets),
        domain = config.apps_domain,
        gateway = config.ports["gateway"],
        ssh = config.ports["ssh"],
        objects = config.ports["object_store"],
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
    )
}

/// The operator of a datacenter.
pub fn operator(datacenter: &Datacenter, data: &Path, secrets: &Secrets) -> String {
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
        token = secrets.token("operator"),
    )
}
