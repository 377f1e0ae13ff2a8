//! The volumes of a pod: folders, linked at `<pod>/rootfs/<mountPath>`. A missing secret or claim is reported with the
//! reason that a kubelet would report.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use objects::json::{entries, items, text};
use objects::pod::container;
use objects::store::Object;
use serde_json::Value;

use crate::hub::Hub;

/// Why a container cannot start yet, as the reason and message of its waiting state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocked {
    pub reason: &'static str,
    pub message: String,
}

pub(super) fn config(message: impl Into<String>) -> Blocked {
    Blocked { reason: "CreateContainerConfigError", message: message.into() }
}

pub(super) fn io(what: &Path) -> impl Fn(std::io::Error) -> Blocked + '_ {
    move |e| Blocked { reason: "CreateContainerError", message: format!("{}: {e}", what.display()) }
}

/// The files of a Secret or ConfigMap.
fn files(object: &Value) -> BTreeMap<String, Vec<u8>> {
    let secret = object["kind"] == "Secret";
    let mut files = BTreeMap::new();
    let decode = |v: &Value| base64::engine::general_purpose::STANDARD.decode(text(v)).unwrap_or_default();
    for (k, v) in entries(&object["data"]) {
        files.insert(k.clone(), if secret { decode(v) } else { text(v).as_bytes().to_vec() });
    }
    for (k, v) in entries(&object["binaryData"]) {
        files.insert(k.clone(), decode(v));
    }
    files
}

pub(super) fn source(
    hub: &Hub,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Option<BTreeMap<String, Vec<u8>>> {
    hub.store.lock().get(kind, namespace, name).map(|o| files(&o.value))
}

/// Creates and links the folders of a pod. Returns the root folder.
pub(super) fn mount(hub: &Hub, pod: &Object) -> Result<PathBuf, Blocked> {
    let home = hub.runtime.pod_dir(pod.uid());
    let rootfs = home.join("rootfs");
    fs::create_dir_all(&rootfs).map_err(io(&rootfs))?;
    let mut folders = BTreeMap::new();
    for volume in items(&pod.value["spec"]["volumes"]) {
        let name = text(&volume["name"]).to_owned();
        let folder = folder_of(hub, pod, volume, &home)?;
        folders.insert(name, folder);
    }
    let container = container(&pod.value);
    let mut mounts: Vec<&Value> = items(&container["volumeMounts"]).iter().collect();
    // parents before mounts inside them
    mounts.sort_by_key(|m| text(&m["mountPath"]).len());
    for m in mounts {
        let (name, at) = (text(&m["name"]), text(&m["mountPath"]));
        let Some(folder) = folders.get(name) else { continue };
        let sub = text(&m["subPath"]);
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

fn folder_of(hub: &Hub, pod: &Object, volume: &Value, home: &Path) -> Result<PathBuf, Blocked> {
    let name = text(&volume["name"]);
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
        let folder = path.ok_or_else(|| {
            mounting(format!("volume {volume} does not exist or is not served by this cluster"))
        })?;
        drop(tx);
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        return Ok(folder);
    }
    for (field, kind, key) in [("secret", "secrets", "secretName"), ("configMap", "configmaps", "name")] {
        let v = &volume[field];
        if !v.is_object() {
            continue;
        }
        let from = text(&v[key]);
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
    let kinds: Vec<&str> = entries(volume).map(|(k, _)| k.as_str()).filter(|k| *k != "name").collect();
    Err(config(format!("volume \"{name}\": {} is not served by this cluster", kinds.join(", "))))
}
