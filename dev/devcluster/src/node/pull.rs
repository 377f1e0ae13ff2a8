//! Pulls of images from a real registry: only the manifest, with the credentials of the pod, by basic
//! authentication or by a token, as containerd does. Only the answer counts; the messages are those of
//! containerd.

use std::time::Duration;

use objects::json::{items, text};
use objects::pod::container;
use objects::store::Object;
use reqwest::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use super::volumes::{Blocked, source};
use crate::hub::Hub;

pub(super) const ERR_IMAGE_PULL: &str = "ErrImagePull";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const TIMEOUT: Duration = Duration::from_secs(10);

/// User name and password.
struct Login {
    username: String,
    password: String,
}

/// Pulls the image of the pod, unless its node has it and the pod does not demand that the registry is asked.
pub(super) async fn pull(hub: &Hub, pod: &Object) -> Result<(), Blocked> {
    let container = container(&pod.value);
    let image = text(&container["image"]);
    if !hub.images.find(image).is_some_and(|found| found.registry) {
        return Ok(());
    }
    let node = text(&pod.value["spec"]["nodeName"]);
    if container["imagePullPolicy"] != "Always" && hub.images.is_on(node, image) {
        return Ok(());
    }
    let blocked = |why: String| Blocked {
        reason: ERR_IMAGE_PULL,
        message: format!(
            "failed to pull and unpack image \"{image}\": failed to resolve reference \"{image}\": {why}"
        ),
    };
    let (registry, rest) = image.split_once('/').unwrap_or_default();
    let (name, reference) = match rest.split_once('@') {
        Some((name, digest)) => (name.split(':').next().unwrap_or_default(), digest),
        None => rest.rsplit_once(':').unwrap_or((rest, "latest")),
    };
    let url = format!("http://{registry}/v2/{name}/manifests/{reference}");
    resolve(&url, login(hub, pod, registry)).await.map_err(blocked)?;
    hub.images.keep(node, image);
    Ok(())
}

/// The credential for the registry among the pod's Secrets. One that is missing is left out, as the kubelet does.
fn login(hub: &Hub, pod: &Object, registry: &str) -> Option<Login> {
    items(&pod.value["spec"]["imagePullSecrets"]).iter().find_map(|reference| {
        let files = source(hub, "secrets", pod.namespace(), text(&reference["name"]))?;
        let config: Value = serde_json::from_slice(files.get(".dockerconfigjson")?).ok()?;
        let found = &config["auths"][registry];
        let field = |field: &str| found[field].as_str().map(str::to_owned);
        Some(Login { username: field("username")?, password: field("password")? })
    })
}

async fn resolve(url: &str, login: Option<Login>) -> Result<(), String> {
    let http = service::http_client().map_err(|error| error.to_string())?;
    let ask = async |authorization: Option<String>| -> Result<Response, String> {
        let request = http.request(Method::HEAD, url).header(ACCEPT, MANIFEST).timeout(TIMEOUT);
        let request = match authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        request.send().await.map_err(|error| format!("failed to do request: {error}"))
    };
    let mut answer = ask(None).await?;
    if answer.status() == StatusCode::UNAUTHORIZED {
        let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let authorization = match challenge.unwrap_or_default().split_once(' ') {
            Some((scheme, parameters)) if scheme.eq_ignore_ascii_case("bearer") => {
                let token = token(&http, parameters, login.as_ref()).await;
                Some(format!("Bearer {}", token.map_err(|why| format!("failed to authorize: {why}"))?))
            }
            _ => login.map(|login| basic(&login)),
        };
        if authorization.is_some() {
            answer = ask(authorization).await?;
        }
    }
    match answer.status() {
        status if status.is_success() => Ok(()),
        StatusCode::NOT_FOUND => Err("not found".to_owned()),
        status => Err(format!("unexpected status from HEAD request to {url}: {status}")),
    }
}

fn basic(login: &Login) -> String {
    use base64::Engine as _;
    let both = format!("{}:{}", login.username, login.password);
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both))
}

/// Asks the authorization service of a challenge for a token.
async fn token(http: &reqwest::Client, parameters: &str, login: Option<&Login>) -> Result<String, String> {
    let parameter = |name: &str| {
        let mut all = parameters.split(',').filter_map(|one| one.trim().split_once('='));
        all.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"'))
    };
    let realm = parameter("realm").ok_or("no realm in the challenge")?;
    let mut url = realm.parse::<url::Url>().map_err(|error| error.to_string())?;
    for name in ["service", "scope"] {
        if let Some(value) = parameter(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let kind = if login.is_some() { "oauth" } else { "anonymous" };
    let request = http.get(url.as_str()).timeout(TIMEOUT);
    let request = match login {
        Some(login) => request.header(AUTHORIZATION, basic(login)),
        None => request,
    };
    let failed = |why: String| format!("failed to fetch {kind} token: {why}");
    let answer = request.send().await.map_err(|error| failed(error.to_string()))?;
    if !answer.status().is_success() {
        return Err(failed(format!("unexpected status from GET request to {url}: {}", answer.status())));
    }
    let answer: Value = answer.json().await.map_err(|error| failed(error.to_string()))?;
    let token = answer["token"].as_str().or(answer["access_token"].as_str());
    token.map(str::to_owned).ok_or_else(|| failed("no token in the answer".to_owned()))
}
