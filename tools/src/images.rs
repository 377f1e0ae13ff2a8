//! `cargo xtask images`: static programs, and the images of deploy/images/Containerfile around them.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use machine::process;
use serde_json::{Value, json};
use tokio::process::Command;
use xtask::packages::{self, Consent};

/// The variable by which programs are built with the commit that they are made of.
const REVISION: &str = "ATELIER_BUILD_REVISION";

/// An image, the programs in it, and the one that is tried.
struct Image {
    name: &'static str,
    programs: Vec<String>,
    /// The command that shows that the program runs in the image, without a configuration.
    check: &'static [&'static str],
}

/// The images of the services, and the others.
fn images() -> Vec<Image> {
    let image =
        |name, program: &str, check| Image { name, programs: vec![format!("atelier-{program}")], check };
    let mut images: Vec<_> = platform::services()
        .iter()
        .map(|service| image(&service.name, &service.name, &["openapi"]))
        .collect();
    images.extend(["admin", "provision", "runner", "fetch"].map(|name| image(name, name, &["--version"])));
    images.extend([image(BACKUP, "admin", &["--version"]), image(WEBUI, "webui", &["--version"])]);
    images.push(Image {
        name: DEVELOPMENT,
        programs: ["devcluster", "devs3", "webui", "fetch"].map(|name| format!("atelier-{name}")).into(),
        check: &[
            "-c",
            "atelier-devcluster --version && atelier-devs3 --version && atelier-webui --version && atelier-fetch --version",
        ],
    });
    images
}

/// The image of the development cluster and object store, whose programs are commands of its shell.
const DEVELOPMENT: &str = "development";
/// The service of the demo. As the one before, it has a shell.
const WEBUI: &str = "webui";
/// The only image with a base image, which has to be fetched: it is built only if it is named.
const BACKUP: &str = "backup";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the image of this service; may be repeated. `backup` is built only if it is named
    #[arg(long = "service")]
    services: Vec<String>,
    /// Images are REPOSITORY/SERVICE:TAG
    #[arg(long, default_value = "atelier")]
    repository: String,
    #[arg(long, default_value = "dev")]
    tag: String,
    /// The image of Postgres that `backup` is based on: of the server's version or later
    #[arg(long, default_value = "docker.io/library/postgres:17")]
    postgres: String,
    /// Build the programs, and no image
    #[arg(long)]
    programs_only: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let images = chosen(&args.services)?;
    let consent = Consent::new(args.yes);
    let folder = xtask::root().join("target/images");
    std::fs::create_dir_all(&folder)?;
    let revision = revision().await;
    build(&images, &folder, revision.as_deref()).await?;
    if args.programs_only {
        return Ok(());
    }
    let authorities = Path::new("/etc/ssl/certs/ca-certificates.crt");
    std::fs::copy(authorities, folder.join("ca-certificates.crt"))
        .with_context(|| format!("{} is missing: install ca-certificates", authorities.display()))?;
    console(&folder.join("console"))?;
    if images.iter().any(|image| [DEVELOPMENT, WEBUI].contains(&image.name)) {
        shell(&packages::busybox(consent)?, &folder.join("bin"))?;
        workspace(&folder.join("workspace"))?;
    }
    let program = packages::image_builder(consent)?;
    let builder = Builder { program, revision: revision.unwrap_or_default(), postgres: args.postgres };
    for image in images {
        let tag = format!("{}/{}:{}", args.repository, image.name, args.tag);
        builder.build(image.name, &tag).await?;
        builder.try_out(&image, &tag).await?;
        println!("  built {tag}");
    }
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Image>> {
    let images = images();
    if let Some(unknown) = names.iter().find(|name| images.iter().all(|image| image.name != **name)) {
        let all: Vec<_> = images.iter().map(|image| image.name).collect();
        bail!("no image {unknown:?}; there are {}", all.join(", "));
    }
    Ok(images
        .into_iter()
        .filter(|image| {
            if names.is_empty() { image.name != BACKUP } else { names.iter().any(|name| name == image.name) }
        })
        .collect())
}

/// Builds static programs, and copies them with their bills of materials to `folder`.
async fn build(images: &[Image], folder: &Path, revision: Option<&str>) -> anyhow::Result<()> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut cargo = Command::new("cargo");
    cargo.current_dir(xtask::root()).env("RUSTFLAGS", "-C target-feature=+crt-static");
    // shown in /v1/platform/health
    cargo.env(REVISION, revision.unwrap_or_default());
    // with --target, procedural macros are built without the flag
    cargo.args(["build", "--release", "--locked", "--target", &target]);
    let programs: Vec<&String> = images.iter().flat_map(|image| &image.programs).collect();
    for program in &programs {
        // a program is called as its package; without the others its dependencies have no more features than it needs
        cargo.args(["--package", program, "--bin", program]);
    }
    ensure!(cargo.status().await?.success(), "the build failed");
    let metadata = metadata(&target).await?;
    let built = built_in(&metadata)?.join(&target).join("release");
    for program in programs {
        std::fs::copy(built.join(program), folder.join(program))?;
        let bill = serde_json::to_vec_pretty(&bill_of_materials(&metadata, program)?)?;
        std::fs::write(folder.join(format!("{program}.cdx.json")), bill)?;
    }
    Ok(())
}

async fn metadata(target: &str) -> anyhow::Result<Value> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(xtask::root());
    let output = cargo
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target])
        .output()
        .await?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn built_in(metadata: &Value) -> anyhow::Result<PathBuf> {
    Ok(metadata["target_directory"].as_str().context("no target directory")?.into())
}

/// A CycloneDX bill of the crates that a program is built from, without those for its tests and its build only.
fn bill_of_materials(metadata: &Value, program: &str) -> anyhow::Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|one| (text(&one["id"]), one)).collect();
    let dependencies: BTreeMap<String, Vec<Value>> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), list(&node["deps"])))
        .collect();
    let is_program =
        |target: &Value| target["name"] == program && list(&target["kind"]).contains(&json!("bin"));
    let root = packages
        .iter()
        .find(|(_, one)| list(&one["targets"]).iter().any(is_program))
        .map(|(id, _)| id.clone())
        .with_context(|| format!("no package has the program {program}"))?;
    let (mut reached, mut open) = (BTreeSet::new(), vec![root.clone()]);
    while let Some(id) = open.pop() {
        if !reached.insert(id.clone()) {
            continue;
        }
        let linked =
            |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        open.extend(dependencies.get(&id).into_iter().flatten().filter(linked).map(|one| text(&one["pkg"])));
    }
    reached.remove(&root);
    let component = |id: &String, kind: &str| {
        let package = &packages[id];
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": kind, "bom-ref": id, "name": name, "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
        });
        if let Some(license) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
        }
        component
    };
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(&root, "application") },
        "components": reached.iter().map(|id| component(id, "library")).collect::<Vec<_>>(),
    }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A folder with the built console; empty if it is not built.
fn console(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    let built = xtask::root().join("console/dist");
    if !built.is_dir() {
        println!(
            "  the gateway's image has no console: build it first, `npm ci && npm run build` in console/"
        );
        return Ok(());
    }
    copy(&built, folder)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A folder with busybox and its commands.
fn shell(busybox: &Path, folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    std::fs::copy(busybox, folder.join("busybox"))?;
    let output = std::process::Command::new(busybox).arg("--list").output()?;
    for command in String::from_utf8(output.stdout)?.lines().filter(|&name| name != "busybox") {
        symlink("busybox", folder.join(command))?;
    }
    Ok(())
}

/// The working folder of the demo's service, which any user can write to.
fn workspace(folder: &Path) -> anyhow::Result<()> {
    let storage = folder.join("storage");
    std::fs::create_dir_all(&storage)?;
    for writable in [folder, &storage] {
        std::fs::set_permissions(writable, std::fs::Permissions::from_mode(0o777))?;
    }
    Ok(())
}

/// The commit of the build: from the environment, for a source without its repository, or from git.
async fn revision() -> Option<String> {
    if let Ok(given) = std::env::var(REVISION) {
        return Some(given);
    }
    let git = Command::new("git").current_dir(xtask::root()).args(["rev-parse", "HEAD"]).output().await;
    let output = git.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// docker or buildah.
struct Builder {
    program: &'static str,
    revision: String,
    postgres: String,
}

impl Builder {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(xtask::root()).args(arguments);
        command
    }

    async fn build(&self, image: &str, tag: &str) -> anyhow::Result<()> {
        let build: &[&str] =
            if self.program == "docker" { &["build"] } else { &["bud", "--isolation", "chroot"] };
        let mut command = self.command(build);
        command.args(["--file", "deploy/images/Containerfile", "--target", image, "--tag", tag]);
        command.args(["--build-arg", "PROGRAMS=prebuilt", "--build-arg"]);
        command.arg(format!("VERSION={}", env!("CARGO_PKG_VERSION")));
        command.arg("--build-arg").arg(format!("REVISION={}", self.revision));
        command.arg("--build-arg").arg(format!("POSTGRES={}", self.postgres)).arg(".");
        process::run(&format!("the build of {tag}"), command).await
    }

    /// Runs the program in its image: it finds everything that it needs there.
    async fn try_out(&self, image: &Image, tag: &str) -> anyhow::Result<()> {
        let arguments = image.check;
        let what = format!("{} in {tag}", arguments.join(" "));
        if self.program == "docker" {
            let mut command =
                self.command(&["run", "--rm", "--read-only", "--cap-drop=ALL", "--network=none"]);
            command.arg(tag).args(arguments);
            return process::run(&what, command).await;
        }
        // an engine is not needed: buildah enters the image by chroot, as its user
        let made = self.command(&["from", tag]).output().await?;
        ensure!(made.status.success(), "buildah from {tag}: {}", String::from_utf8_lossy(&made.stderr));
        let container = String::from_utf8(made.stdout)?.trim().to_owned();
        let entrypoint = if image.name == DEVELOPMENT { "/bin/sh" } else { "/atelier" };
        let mut command = self.command(&["run", "--isolation", "chroot", &container, "--", entrypoint]);
        command.args(arguments);
        let ran = process::run(&what, command).await;
        process::run("buildah rm", self.command(&["rm", &container])).await?;
        ran
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_lists_what_is_linked_and_nothing_else() {
        let dependency = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let package = |name: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                    "targets": [{ "name": name, "kind": [if name == "app" { "bin" } else { "lib" }] }] })
        };
        let packages = ["app", "linked", "deep", "tested", "built", "other"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "app", "deps": [
                    dependency("linked", Value::Null), dependency("tested", json!("dev")),
                    dependency("built", json!("build")),
                ] },
                { "id": "linked", "deps": [dependency("deep", Value::Null)] },
                { "id": "deep", "deps": [dependency("linked", Value::Null)] },
            ] },
        });
        let bill = bill_of_materials(&metadata, "app").unwrap();
        let names: Vec<_> =
            bill["components"].as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
        assert_eq!(names, ["deep", "linked"]);
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/deep@1.0.0");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(bill_of_materials(&metadata, "absent").is_err());
    }

    #[test]
    fn an_image_with_a_base_image_is_built_only_if_it_is_named() {
        let names = |of: &[&str]| -> Vec<_> {
            let of: Vec<_> = of.iter().map(|&name| name.to_owned()).collect();
            chosen(&of).unwrap().iter().map(|image| image.name).collect()
        };
        assert_eq!(names(&[]).len(), images().len() - 1);
        assert!(!names(&[]).contains(&BACKUP));
        assert_eq!(names(&[BACKUP]), [BACKUP]);
    }

    #[test]
    fn each_image_is_a_stage_of_the_containerfile() {
        let file = std::fs::read_to_string(xtask::root().join("deploy/images/Containerfile")).unwrap();
        for image in images() {
            assert!(file.contains(&format!(" AS {}\n", image.name)), "{}", image.name);
            for program in image.programs {
                assert!(file.contains(&format!("/programs/{program}")), "{program}");
            }
        }
    }
}
