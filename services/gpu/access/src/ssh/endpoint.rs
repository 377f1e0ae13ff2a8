//! `/v1/ssh`: where to connect, and how to recognize the endpoint.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{HasAuth, User};
use axum::extract::{FromRef, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::Parts;

/// The SSH endpoint: `ssh -p <port> <instance id>@<host>`.
#[derive(Debug, Serialize, ToSchema)]
struct SshEndpoint {
    /// Host name.
    host: String,
    /// Port.
    port: u16,
    /// Public host key in OpenSSH format.
    host_key: String,
    /// Fingerprint of the host key, as `ssh` shows it at the first connection.
    fingerprint: String,
    /// The line for `~/.ssh/known_hosts`.
    known_hosts: String,
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_ssh))
}

/// Returns host, port and host key of the SSH endpoint.
#[utoipa::path(
    get, path = "/v1/ssh", operation_id = "get_ssh", tag = "ssh",
    responses((status = 200, description = "The endpoint", body = SshEndpoint)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_ssh(State(app): State<Parts>, _: User) -> Result<Json<SshEndpoint>, Problem> {
    let missing = || Problem::not_found().next("SSH is not set up on this platform. Use the terminal.");
    let ssh = app.server.as_ref().ok_or_else(missing)?;
    let (host, port) = ssh.public_address();
    let (host_key, fingerprint) =
        ssh.host_key.public().await.map_err(|error| Problem::unavailable("The database", error))?;
    let name = if port == 22 { host.clone() } else { format!("[{host}]:{port}") };
    Ok(Json(SshEndpoint { known_hosts: format!("{name} {host_key}"), host, port, host_key, fingerprint }))
}
