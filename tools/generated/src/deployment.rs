//! The chart and the compose file, checked by the programs that read them. What a service makes of its configuration there,
//! the tests in tests/install check.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tokio::process::Command;

use xtask::packages::Tests;

/// The oldest Kubernetes that the chart supports, and the newest whose schemas are available.
const KUBERNETES: [&str; 2] = ["1.30", "1.37"];

/// Lints and renders the chart with each of its value sets, validates the objects, and reads the compose file.
pub async fn check(packages: &Tests) -> anyhow::Result<()> {
    if let Some(helm) = &packages.helm {
        let validate = packages.kubernetes_validate.as_deref();
        if validate.is_none() {
            println!("  not checked: the objects of the chart (no kubernetes-validate)");
        }
        chart(helm, validate, &xtask::target().join("chart")).await?;
    } else {
        println!("  not checked: the chart (no helm)");
    }
    if packages.has_docker_compose {
        for profiles in ["", "observe", "ceph", "ceph,observe"] {
            let mut compose = Command::new("docker-compose");
            compose.current_dir(xtask::root()).env("COMPOSE_PROFILES", profiles).args(["config", "--quiet"]);
            machine::process::run("docker-compose config", compose).await?;
        }
    } else {
        println!("  not checked: the compose file (no docker-compose)");
    }
    Ok(())
}

async fn chart(helm: &Path, validate: Option<&Path>, out: &Path) -> anyhow::Result<()> {
    let chart = xtask::root().join("deploy/helm/atelier");
    std::fs::create_dir_all(out)?;
    for values in value_sets(&chart)? {
        let name = values.file_stem().and_then(|name| name.to_str()).context("a file without a name")?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(helm);
            command
                .args(arguments)
                .arg(&chart)
                .args(["--namespace", "atelier-system", "--values"])
                .arg(&values);
            command
        };
        let lint = command(&["lint", "--strict", "--quiet"]);
        machine::process::run(&format!("helm lint ({name})"), lint).await?;
        let rendered = command(&["template", "atelier"]).output().await?;
        ensure!(
            rendered.status.success(),
            "helm template ({name}) failed: {}",
            String::from_utf8_lossy(&rendered.stderr)
        );
        let file = out.join(format!("{name}.yaml"));
        std::fs::write(&file, rendered.stdout)?;
        let Some(validate) = validate else { continue };
        for version in KUBERNETES {
            let mut objects = Command::new(validate);
            // it knows no custom resources, and reports each
            objects.args(["-k", version, "--strict", "--quiet", "--no-warn"]).arg(&file);
            machine::process::run(&format!("kubernetes-validate {version} ({name})"), objects).await?;
        }
    }
    Ok(())
}

/// The value sets of the chart's `ci` folder.
fn value_sets(chart: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries: Vec<_> = std::fs::read_dir(chart.join("ci"))?.collect::<Result<_, _>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    ensure!(!files.is_empty(), "the chart has no value sets");
    Ok(files)
}
