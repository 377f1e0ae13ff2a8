//! From a pod to the command that runs it: image table, volumes, environment.

use std::collections::BTreeMap;

use objects::json::{text, texts};
use objects::pod::container;
use objects::store::Object;

use super::environment::{environment, expand};
use super::volumes::{self, Blocked};
use crate::config::ImageConfig;
use crate::hub::Hub;
use crate::runtime::Sandbox;
use crate::runtime::process::Launch;

/// The configured image; `pause` images run no process.
fn find(hub: &Hub, image: &str) -> Result<ImageConfig, Blocked> {
    if let Some(found) = hub.images.find(image) {
        return Ok(found);
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.split([':', '@']).next() == Some("pause") {
        return Ok(ImageConfig::new("pause", Vec::<String>::new()));
    }
    let message =
        format!("failed to pull and unpack image \"{image}\": not in the image table of this cluster");
    Err(Blocked { reason: "ErrImagePull", message })
}

/// Prepares the folders of a pod. Returns its command (`None` if the image runs no process) and its sandbox.
pub(super) fn prepare(hub: &Hub, pod: &Object, address: &str) -> Result<(Option<Launch>, Sandbox), Blocked> {
    let container = container(&pod.value);
    let image = find(hub, text(&container["image"]))?;
    let rootfs = volumes::mount(hub, pod)?;
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
    let mut base: BTreeMap<String, String> = [
        ("PATH", path.as_str()),
        ("HOME", &rootfs.to_string_lossy()),
        ("HOSTNAME", pod.name()),
        ("POD_IP", address),
        ("ATELIER_ROOTFS", &rootfs.to_string_lossy()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    base.extend(image.env.clone());
    let env = environment(hub, pod, address, base)?;
    let list = |field: &str| -> Vec<String> { texts(&container[field]).map(|s| expand(s, &env)).collect() };
    let (command, args) = (list("command"), list("args"));
    // as with Docker images: a command replaces entrypoint and cmd, args replace cmd
    let mut argv = if command.is_empty() { image.entrypoint } else { command.clone() };
    argv.extend(if args.is_empty() && command.is_empty() { image.cmd } else { args });
    let dir = container["workingDir"].as_str().or(image.working_dir.as_deref()).unwrap_or("/");
    let cwd = rootfs.join(dir.trim_start_matches('/'));
    std::fs::create_dir_all(&cwd).map_err(volumes::io(&cwd))?;
    let sandbox = Sandbox { cwd, env: env.into_iter().collect() };
    let Sandbox { cwd, env } = sandbox.clone();
    let launch = (!argv.is_empty()).then_some(Launch { argv, env, cwd, stdin: false, tty: false });
    Ok((launch, sandbox))
}
