//! The configuration file of each process.

use std::path::Path;

use super::secrets::Secrets;
use crate::config::Config;

/// The database. Each service has a schema in it.
pub(crate) const DATABASE: &str = "atelier";

/// The development cluster, with one node.
pub(crate) fn cluster(config: &Config, data: &Path, programs: &Path) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "{data}/cluster"

[[nodes]]
name = "node-1"
cpu = "128"
memory = "512Gi"
ephemeral_storage = "4Ti"
pods = 500
extended = {{ "nvidia.com/gpu" = 32 }}
labels = {{ "atelier.dev/datacenter" = "dev-1" }}

# the operator's placeholders
[[images]]
pattern = "registry.k8s.io/pause:*"

[[images]]
pattern = "atelier/webui:*"
entrypoint = ["{programs}/atelier-webui"]
"#,
        port = config.ports.cluster,
        data = data.display(),
        programs = programs.display(),
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

/// Name of the datacenter and of its cluster.
pub(crate) const DATACENTER: &str = "dev-1";

/// A service, the operator or the gateway, by name.
pub(crate) fn service(name: &str, config: &Config, data: &Path, secrets: &Secrets) -> String {
    match name {
        "identity" => with_callers(
            &identity(config, secrets),
            &[
                ("gateway", &secrets.gateway_token),
                ("gpu", &secrets.gpu_token),
                ("stock", &secrets.stock_token),
                ("storage", &secrets.storage_token),
            ],
        ),
        "stock" => with_callers(&stock(config, data, secrets), &[("gpu", &secrets.gpu_token)]),
        "storage" => with_callers(
            &storage(config, data, secrets),
            &[("gpu", &secrets.gpu_token), ("identity", &secrets.identity_token)],
        ),
        "gpu" => with_callers(
            &gpu(config, data, secrets),
            &[("gateway", &secrets.gateway_token), ("identity", &secrets.identity_token)],
        ),
        "operator" => operator(config, data, secrets),
        "gateway" => gateway(config, secrets),
        other => unreachable!("{other} is not a service"),
    }
}

fn with_callers(text: &str, callers: &[(&str, &String)]) -> String {
    let lines: Vec<_> = callers.iter().map(|(name, token)| format!("{name} = \"{token}\"")).collect();
    format!("{text}\n[callers]\n{}\n", lines.join("\n"))
}

/// The issuer of access tokens, and where a service with this token reads their revocations.
fn revocable(config: &Config, token: &str) -> String {
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

fn kubeconfig(data: &Path) -> String {
    data.join("cluster/kubeconfig").display().to_string()
}

fn identity(config: &Config, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[[encryption_keys]]
id = "1"
key = "{key}"

[bootstrap_admin]
email = "{email}"
password = "{password}"

[participants]
gpu = {{ url = "http://127.0.0.1:{gpu}", token = "{token}" }}
storage = {{ url = "http://127.0.0.1:{storage}", token = "{token}" }}

{database}
{auth}"#,
        port = config.ports.identity,
        gpu = config.ports.gpu,
        storage = config.ports.storage,
        token = secrets.identity_token,
        key = secrets.encryption_key,
        email = super::ADMINISTRATOR,
        password = secrets.administrator_password,
        database = database(config, secrets),
        auth = auth(config),
    )
}

fn stock(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[clusters.{DATACENTER}]
kubeconfig = "{kubeconfig}"

{database}
{auth}"#,
        port = config.ports.stock,
        kubeconfig = kubeconfig(data),
        database = database(config, secrets),
        auth = revocable(config, &secrets.stock_token),
    )
}

fn storage(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[clusters.{DATACENTER}]
kubeconfig = "{kubeconfig}"

[object_store]
endpoint = "http://127.0.0.1:{objects}"
access_key = "{access}"
secret_key = "{secret}"

{database}
{auth}"#,
        port = config.ports.storage,
        kubeconfig = kubeconfig(data),
        objects = config.ports.object_store,
        access = secrets.object_store_access_key,
        secret = secrets.object_store_secret_key,
        database = database(config, secrets),
        auth = revocable(config, &secrets.storage_token),
    )
}

fn gpu(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"

[stock]
url = "http://127.0.0.1:{stock}"
token = "{token}"

[storage]
url = "http://127.0.0.1:{storage}"
token = "{token}"

[apps]
scheme = "http"
domain = "{domain}"
port = {gateway}

[clusters.{DATACENTER}]
kubeconfig = "{kubeconfig}"

{database}
{auth}"#,
        port = config.ports.gpu,
        stock = config.ports.stock,
        storage = config.ports.storage,
        token = secrets.gpu_token,
        domain = config.apps_domain,
        gateway = config.ports.gateway,
        kubeconfig = kubeconfig(data),
        database = database(config, secrets),
        auth = revocable(config, &secrets.gpu_token),
    )
}

fn operator(config: &Config, data: &Path, secrets: &Secrets) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
kubeconfig = "{kubeconfig}"
# a fixed identity takes its own lease again after a crash
identity = "operator-1"

[callers]
scripts = "{token}"
"#,
        port = config.ports.operator,
        kubeconfig = kubeconfig(data),
        token = secrets.operator_token,
    )
}

fn gateway(config: &Config, secrets: &Secrets) -> String {
    let ports = &config.ports;
    format!(
        r#"listen = "127.0.0.1:{gateway}"
metrics_listen = "127.0.0.1:{metrics}"
public_url = "http://localhost:{gateway}"
gpu_token = "{token}"

[[cookie_keys]]
id = "1"
key = "{cookie_key}"

[apps]
domain = "{domain}"

[services]
identity = "http://127.0.0.1:{identity}"
stock = "http://127.0.0.1:{stock}"
gpu = "http://127.0.0.1:{gpu}"
storage = "http://127.0.0.1:{storage}"

{auth}"#,
        gateway = ports.gateway,
        metrics = ports.gateway_metrics,
        token = secrets.gateway_token,
        cookie_key = secrets.cookie_key,
        domain = config.apps_domain,
        identity = ports.identity,
        stock = ports.stock,
        gpu = ports.gpu,
        storage = ports.storage,
        auth = revocable(config, &secrets.gateway_token),
    )
}
