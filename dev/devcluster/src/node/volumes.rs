//! A pod's folder: its volumes, linked into `<pod>/rootfs/<mountPath>`, and its environment. A missing secret or
//! claim is an error with the reason a kubelet would show.

use crate::hub::Hub;
use crate::store::Object;
use base64::Engine as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Why a container cannot be started yet: a waiting reason and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub reason: &'static str,
    pub message: String,
}

fn config(message: impl Into<String>) -> Blocked {
    Blocked { reason: "CreateContainerConfigError", message: message.into() }
}

fn io(what: &Path) -> impl Fn(std::io::Error) -> Blocked + '_ {
    move |e| Blocked { reason: "CreateContainerError", message: format!("{}: {e}", what.display()) }
}

/// Files of a Secret or ConfigMap.
fn entries(object: &Value) -> BTreeMap<String, Vec<u8>> {
    let secret = object["kind"] == "Secret";
    let mut files = BTreeMap::new();
    let decode = |v: &Value| {
        base64::engine::general_purpose::STANDARD.decode(v.as_str().unwrap_or("")).unwrap_or_default()
    };
    for (k, v) in object["data"].as_object().into_iter().flatten() {
        files
            .insert(k.clone(), if secret { decode(v) } else { v.as_str().unwrap_or("").as_bytes().to_vec() });
    }
    for (k, v) in object["binaryData"].as_object().into_iter().flatten() {
        files.insert(k.clone(), decode(v));
    }
    files
}

fn source(hub: &Hub, kind: &str, namespace: &str, name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    hub.store.lock().get(kind, namespace, name).map(|o| entries(&o.value))
}

/// Makes the folders of a pod and links them; gives the root folder.
pub(super) fn mount(hub: &Hub, pod: &Object, home: &Path) -> Result<PathBuf, Blocked> {
    let rootfs = home.join("rootfs");
    fs::create_dir_all(&rootfs).map_err(io(&rootfs))?;
    let mut places = BTreeMap::new();
    for volume in pod.value["spec"]["volumes"].as_array().into_iter().flatten() {
        let name = volume["name"].as_str().unwrap_or("").to_owned();
        let place = place_of(hub, pod, volume, home)?;
        places.insert(name, place);
    }
    let container = &pod.value["spec"]["containers"][0];
    let mut mounts: Vec<&Value> = container["volumeMounts"].as_array().into_iter().flatten().collect();
    // parents before what is mounted inside them
    mounts.sort_by_key(|m| m["mountPath"].as_str().unwrap_or("").len());
    for m in mounts {
        let (name, at) = (m["name"].as_str().unwrap_or(""), m["mountPath"].as_str().unwrap_or(""));
        let Some(folder) = places.get(name) else { continue };
        let sub = m["subPath"].as_str().unwrap_or("");
        if at.split('/').chain(sub.split('/')).any(|p| p == "..") {
            return Err(config(format!("mount {at}: '..' is not allowed")));
        }
        let folder = folder.join(sub);
        if !folder.exists() {
            fs::create_dir_all(&folder).map_err(io(&folder))?;
        }
        let link = rootfs.join(at.trim_start_matches('/'));
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent).map_err(io(parent))?;
        }
        match fs::symlink_metadata(&link) {
            Ok(meta) if meta.is_symlink() => fs::remove_file(&link).map_err(io(&link))?,
            Ok(meta) if meta.is_dir() => fs::remove_dir(&link).map_err(io(&link))?,
            _ => {}
        }
        symlink(&folder, &link).map_err(io(&link))?;
    }
    Ok(rootfs)
}

fn place_of(hub: &Hub, pod: &Object, volume: &Value, home: &Path) -> Result<PathBuf, Blocked> {
    let name = volume["name"].as_str().unwrap_or("");
    let own = home.join("volumes").join(name);
    if volume["emptyDir"].is_object() {
        fs::create_dir_all(&own).map_err(io(&own))?;
        return Ok(own);
    }
    if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        let mounting = |message: String| Blocked { reason: "ContainerCreating", message };
        let tx = hub.store.lock();
        let claim = tx
            .get("persistentvolumeclaims", pod.namespace(), claim)
            .ok_or_else(|| mounting(format!("persistentvolumeclaim \"{claim}\" not found")))?;
        let bound = claim.value["status"]["phase"] == "Bound";
        let volume = claim.value["spec"]["volumeName"].as_str().filter(|_| bound);
        let volume = volume.ok_or_else(|| {
            mounting(format!("pod has unbound immediate PersistentVolumeClaim {}", claim.name()))
        })?;
        let path = tx.get("persistentvolumes", "", volume);
        let path = path.and_then(|v| Some(PathBuf::from(v.value["spec"]["hostPath"]["path"].as_str()?)));
        let folder =
            path.ok_or_else(|| mounting(format!("volume {volume} is gone or not served by this cluster")))?;
        drop(tx);
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        return Ok(folder);
    }
    for (field, kind, key) in [("secret", "secrets", "secretName"), ("configMap", "configmaps", "name")] {
        let v = &volume[field];
        if !v.is_object() {
            continue;
        }
        let from = v[key].as_str().unwrap_or("");
        let mut files = match source(hub, kind, pod.namespace(), from) {
            Some(files) => files,
            None if v["optional"] == true => BTreeMap::new(),
            None => {
                let message =
                    format!("MountVolume.SetUp failed for volume \"{name}\" : {field} \"{from}\" not found");
                return Err(Blocked { reason: "ContainerCreating", message });
            }
        };
        if let Some(items) = v["items"].as_array() {
            let pick =
                |i: &Value| Some((i["path"].as_str()?.to_owned(), files.get(i["key"].as_str()?)?.clone()));
            files = items.iter().filter_map(pick).collect();
        }
        if own.exists() {
            fs::remove_dir_all(&own).map_err(io(&own))?;
        }
        let mode = v["defaultMode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or(0o644);
        for (file, bytes) in files {
            let path = own.join(&file);
            if file.split('/').any(|p| p == "..") {
                return Err(config(format!("volume {name}: '..' is not allowed in {file}")));
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(io(parent))?;
            }
            fs::write(&path, bytes).map_err(io(&path))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(io(&path))?;
        }
        fs::create_dir_all(&own).map_err(io(&own))?;
        return Ok(own);
    }
    let kinds: Vec<&str> =
        volume.as_object().into_iter().flatten().map(|(k, _)| k.as_str()).filter(|k| *k != "name").collect();
    Err(config(format!("volume \"{name}\": {} is not served by this cluster", kinds.join(", "))))
}

/// The environment of a pod's container: the image's, then `envFrom`, then `env` with references resolved.
pub(super) fn environment(
    hub: &Hub,
    pod: &Object,
    ip: &str,
    image: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Blocked> {
    let mut env = image.clone();
    let container = &pod.value["spec"]["containers"][0];
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    for from in container["envFrom"].as_array().into_iter().flatten() {
        let prefix = from["prefix"].as_str().unwrap_or("");
        for (field, kind) in [("secretRef", "secrets"), ("configMapRef", "configmaps")] {
            let Some(name) = from[field]["name"].as_str() else { continue };
            match source(hub, kind, pod.namespace(), name) {
                Some(files) => env.extend(files.iter().map(|(k, v)| (format!("{prefix}{k}"), text(v)))),
                None if from[field]["optional"] == true => {}
                None => return Err(config(format!("{kind} \"{name}\" not found"))),
            }
        }
    }
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    for e in container["env"].as_array().into_iter().flatten() {
        let name = e["name"].as_str().unwrap_or("").to_owned();
        let from = &e["valueFrom"];
        let value = if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            Some(field(pod, path, ip).ok_or_else(|| config(format!("unsupported fieldPath {path}")))?)
        } else if from.is_object() {
            let mut found = None;
            for (field, kind) in [("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")] {
                let r = &from[field];
                if !r.is_object() {
                    continue;
                }
                let (object, key) = (r["name"].as_str().unwrap_or(""), r["key"].as_str().unwrap_or(""));
                let value = source(hub, kind, pod.namespace(), object).and_then(|f| f.get(key).map(text));
                if value.is_none() && r["optional"] != true {
                    return Err(config(format!(
                        "couldn't find key {key} in {kind} {}/{object}",
                        pod.namespace()
                    )));
                }
                found = Some(value);
            }
            found.ok_or_else(|| config(format!("env {name}: this source is not served by this cluster")))?
        } else {
            Some(expand(e["value"].as_str().unwrap_or(""), &own))
        };
        if let Some(value) = value {
            own.insert(name, value);
        }
    }
    env.extend(own);
    Ok(env)
}

/// Downward API fields.
fn field(pod: &Object, path: &str, ip: &str) -> Option<String> {
    let keyed = |map: &str| {
        let key = path.strip_prefix(map)?.strip_prefix("['")?.strip_suffix("']")?;
        Some(
            pod.value["metadata"][map.trim_start_matches("metadata.")][key].as_str().unwrap_or("").to_owned(),
        )
    };
    match path {
        "metadata.name" => Some(pod.name().to_owned()),
        "metadata.namespace" => Some(pod.namespace().to_owned()),
        "metadata.uid" => Some(pod.uid().to_owned()),
        "status.podIP" | "status.podIPs" => Some(ip.to_owned()),
        "status.hostIP" => Some("127.0.0.1".into()),
        "spec.nodeName" => pod.value["spec"]["nodeName"].as_str().map(str::to_owned),
        "spec.serviceAccountName" => pod.value["spec"]["serviceAccountName"].as_str().map(str::to_owned),
        _ => keyed("metadata.labels").or_else(|| keyed("metadata.annotations")),
    }
}

/// `$(NAME)` references to variables defined before; unknown ones stay, `$$(` is an escape.
pub(super) fn expand(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(tail) = rest.strip_prefix("$$") {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = rest.strip_prefix("$(").and_then(|t| t.split_once(')')) {
            match env.get(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[..name.len() + 3]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_expand() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        assert_eq!(expand("x$(A)y $(B) $$(A) $", &env), "x1y $(B) $(A) $");
    }
}
