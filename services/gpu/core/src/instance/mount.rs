//! Storages of an instance: what is ordered, where it is mounted, and which mount paths are valid. Pure.

use std::collections::HashSet;

use ids::StorageId;
use problem::{Checks, Invalid};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::catalogue::Template;

/// Limit of storages of an instance.
const MAX_STORAGES: usize = 16;
/// Limit of bytes in a mount path.
const MAX_PATH: usize = 1024;
/// Directories of the system and of Kubernetes: nothing is mounted at, inside or above them.
const SYSTEM_PATHS: [&str; 18] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/sbin",
    "/var/lib",
    "/var/run",
];

/// A storage in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceStorageRequest)]
pub struct NewMount {
    /// Id of a volume of the tenant.
    pub storage_id: StorageId,
    /// Absolute path in the container, without `.`, `..` or a slash at the end. That of the service if absent.
    #[serde(default)]
    mount_path: Option<String>,
    /// Whether the container may only read.
    #[serde(default)]
    read_only: bool,
}

impl NewMount {
    /// Returns the storage at this path, or at the mount path of the service.
    pub fn at(storage_id: StorageId, mount_path: Option<String>) -> Self {
        Self { storage_id, mount_path, read_only: false }
    }
}

/// A requested storage, with the JSON pointer to its entry in the request.
#[derive(Debug, Clone)]
pub struct Requested {
    pub pointer: String,
    pub mount: NewMount,
}

impl Requested {
    /// The storages of a list at `/storages`.
    pub fn list(mounts: &[NewMount]) -> Vec<Self> {
        let entries = mounts.iter().enumerate();
        entries.map(|(i, mount)| Self { pointer: format!("/storages/{i}"), mount: mount.clone() }).collect()
    }
}

/// A storage of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Storage.
    pub storage_id: StorageId,
    /// Absolute path in the container.
    pub mount_path: String,
    /// Whether the container may only read.
    #[serde(default)]
    pub read_only: bool,
}

/// Checks what needs no template.
pub fn check_new(checks: &mut Checks, requested: &[Requested]) {
    checks.require(requested.len() <= MAX_STORAGES, "/storages", format!("must be at most {MAX_STORAGES}"));
    let mut storages = HashSet::new();
    for Requested { pointer, mount } in requested.iter().take(MAX_STORAGES) {
        checks.require(
            storages.insert(mount.storage_id),
            format!("{pointer}/storage_id"),
            "duplicate storage",
        );
        let Some(path) = &mount.mount_path else { continue };
        let at = format!("{pointer}/mount_path");
        if !is_normalized(path) {
            let detail = "must be an absolute path of at most 1024 bytes, without `.`, `..`, `:`, control characters, \
                          empty segments or a slash at the end";
            checks.refuse(at, detail);
        } else if let Some(system) = SYSTEM_PATHS.iter().find(|system| overlap(path, system)) {
            checks.refuse(at, format!("must not be at, inside or above {system}"));
        }
    }
}

/// Returns the mounts of checked requests for a template.
///
/// # Errors
/// If paths overlap one another or hide paths of the template, or one is missing that the template does not have.
pub fn resolve(requested: &[Requested], template: &Template) -> Result<Vec<Mount>, Invalid> {
    let mut checks = Checks::default();
    let mut mounts: Vec<Mount> = Vec::new();
    for Requested { pointer, mount } in requested {
        let at = format!("{pointer}/mount_path");
        let Some(mount_path) = mount.mount_path.clone().or_else(|| template.storage_mount_path.clone())
        else {
            checks.refuse(at, "is required: this service has no path for a storage");
            continue;
        };
        if let Some(conflict) = conflict(&mount_path, &mounts, template) {
            checks.refuse(at, conflict);
        }
        mounts.push(Mount { storage_id: mount.storage_id, mount_path, read_only: mount.read_only });
    }
    checks.finish()?;
    Ok(mounts)
}

/// Checks mounts that are kept with another template.
pub fn check_template(mounts: &[Mount], template: &Template) -> Result<(), Invalid> {
    let mut conflicts = mounts.iter().enumerate().filter_map(|(n, mount)| {
        let conflict = conflict(&mount.mount_path, &mounts[..n], template)?;
        Some(format!("with this version, the storage at {} {conflict}", mount.mount_path))
    });
    match conflicts.next() {
        Some(detail) => Err(Invalid::field("/version", detail)),
        None => Ok(()),
    }
}

/// Returns why nothing can be mounted at this path in addition to these mounts.
fn conflict(path: &str, mounts: &[Mount], template: &Template) -> Option<String> {
    let other = mounts.iter().find(|other| overlap(&other.mount_path, path));
    let overlaps = other.map(|other| format!("overlaps {}", other.mount_path));
    overlaps.or_else(|| Some(format!("hides {}, which the service uses", hidden(template, path)?)))
}

/// A path of the template that a mount would hide. A storage exactly at the path for storages hides nothing.
fn hidden<'a>(template: &'a Template, mount_path: &str) -> Option<&'a str> {
    let of_storage = template.storage_mount_path.as_deref();
    if of_storage == Some(mount_path) {
        return None;
    }
    let paths = [of_storage, template.working_dir.as_deref()];
    paths.into_iter().flatten().find(|path| is_within(path, mount_path))
}

fn is_normalized(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    path.len() <= MAX_PATH
        && !path.chars().any(|c| c == ':' || c.is_control())
        && rest.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Whether a path is another one, or inside it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn overlap(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::instance::fixture;

    fn template() -> Template {
        let order = fixture::instance(super::super::State::Deleted).order;
        Template {
            storage_mount_path: Some("/workspace/storage".into()),
            working_dir: Some("/srv/app".into()),
            ..order.template
        }
    }

    fn mount(path: &str) -> NewMount {
        NewMount::at(StorageId::new(), Some(path.to_owned()))
    }

    /// The pointers and details of the errors of mounts at these paths.
    fn errors(paths: &[&str]) -> Vec<String> {
        let mounts: Vec<_> = paths.iter().map(|path| mount(path)).collect();
        let mounts = Requested::list(&mounts);
        let mut checks = Checks::default();
        check_new(&mut checks, &mounts);
        let errors = checks.into_errors();
        if !errors.is_empty() {
            return errors.into_iter().map(|error| format!("{} {}", error.pointer, error.detail)).collect();
        }
        let errors = resolve(&mounts, &template()).err().map(Invalid::into_errors).unwrap_or_default();
        errors.into_iter().map(|error| format!("{} {}", error.pointer, error.detail)).collect()
    }

    #[test]
    fn paths_are_absolute_and_normalized() {
        assert_eq!(
            errors(&["/data", "/a/b", "/workspace/storage", "/srv/app/models", "/usr/local/x"]),
            [""; 0]
        );
        let long = format!("/{}", "x".repeat(MAX_PATH));
        for path in ["", "/", "data", "/a/", "/a//b", "/a/./b", "/a/../b", "/..", "/a:b", "/a\nb", &long] {
            let errors = errors(&[path]);
            assert_eq!(errors.len(), 1, "{path:?}");
            assert!(errors[0].starts_with("/storages/0/mount_path must be an absolute path"), "{errors:?}");
        }
    }

    #[test]
    fn nothing_is_mounted_over_the_system_or_the_service() {
        for path in ["/etc", "/etc/ssl", "/usr", "/var", "/var/run/secrets", "/proc/1", "/dev/shm", "/run"] {
            let errors = errors(&[path]);
            assert!(errors.len() == 1 && errors[0].contains("at, inside or above"), "{path}: {errors:?}");
        }
        for path in ["/srv", "/srv/app", "/workspace"] {
            let errors = errors(&[path]);
            assert!(errors.len() == 1 && errors[0].contains("hides"), "{path}: {errors:?}");
        }
        // not even if only their names begin alike
        assert_eq!(errors(&["/etcetera", "/srv/application", "/workspace2"]), [""; 0]);
    }

    #[test]
    fn paths_do_not_overlap() {
        assert_eq!(errors(&["/a", "/b", "/a"]), ["/storages/2/mount_path overlaps /a"]);
        assert_eq!(errors(&["/a/b", "/a"]), ["/storages/1/mount_path overlaps /a/b"]);
        assert_eq!(errors(&["/a", "/ab"]), [""; 0]);
    }

    #[test]
    fn the_number_is_limited_and_a_storage_is_mounted_once() {
        let most: Vec<String> = (0..=MAX_STORAGES).map(|i| format!("/m/{i}")).collect();
        let most: Vec<&str> = most.iter().map(String::as_str).collect();
        assert_eq!(errors(&most[1..]), [""; 0]);
        assert_eq!(errors(&most), ["/storages must be at most 16"]);
        let mut twice = [mount("/a"), mount("/b")];
        twice[1].storage_id = twice[0].storage_id;
        let mut checks = Checks::default();
        check_new(&mut checks, &Requested::list(&twice));
        assert_eq!(checks.into_errors()[0].pointer, "/storages/1/storage_id");
    }

    #[test]
    fn a_storage_without_a_path_is_mounted_at_that_of_the_service() {
        let new = Requested::list(&[NewMount::at(StorageId::new(), None)]);
        assert_eq!(resolve(&new, &template()).unwrap()[0].mount_path, "/workspace/storage");
        assert!(resolve(&new, &Template { storage_mount_path: None, ..template() }).is_err());
    }

    #[test]
    fn the_default_storage_is_the_one_at_the_path_of_the_service() {
        let mut order = fixture::instance(super::super::State::Deleted).order;
        order.template = template();
        let at = |path: &str, read_only| Mount {
            storage_id: StorageId::new(),
            mount_path: path.into(),
            read_only,
        };
        let (default, other) = (at("/workspace/storage", false), at("/data", false));
        for (mounts, expected) in [
            (vec![], None),
            (vec![default.clone()], Some(default.storage_id)),
            (vec![other.clone(), default.clone()], Some(default.storage_id)),
            (vec![other], None),
            (vec![at("/workspace/storage", true)], None),
        ] {
            order.storages = mounts;
            assert_eq!(order.default_storage(), expected);
        }
    }

    proptest! {
        #[test]
        fn accepted_paths_never_hide_one_another(paths in prop::collection::vec("(/[abc.]{0,2}){1,3}", 0..5)) {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            if errors(&paths).is_empty() {
                for (i, one) in paths.iter().enumerate() {
                    prop_assert!(!one.contains("//") && !one.split('/').any(|s| s == ".."));
                    for other in &paths[i + 1..] {
                        let (in_one, in_other) = (format!("{one}/"), format!("{other}/"));
                        prop_assert!(one != other && !other.starts_with(&in_one) && !one.starts_with(&in_other));
                    }
                }
            }
        }
    }
}
