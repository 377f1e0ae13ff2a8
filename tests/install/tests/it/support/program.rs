//! The start of a service's program, up to its configuration, in a process of its own: variables of the environment belong
//! to a process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};
use serde_json::Value;

/// Name of the case that is such a process; see [`in_process`].
pub(crate) const CASE: &str = "reads_its_configuration";

const SERVICE: &str = "INSTALL_TEST_SERVICE";
const FILE: &str = "INSTALL_TEST_FILE";
const MARK: &str = "the configuration is ";

/// Reads `file` and the environment with the configuration type of a service. Returns what it has read.
///
/// # Errors
/// If the service does not accept the configuration.
pub(crate) fn read(service: &str, file: &Path) -> anyhow::Result<Value> {
    use service::config::load;
    let some = Some(file);
    match service {
        "gateway" => drop(load::<atelier_gateway::Config>(some)?),
        "identity" => drop(load::<atelier_identity::Config>(some)?),
        "stock" => drop(load::<atelier_stock::Config>(some)?),
        "storage" => drop(load::<atelier_storage::Config>(some)?),
        "jobs" => drop(load::<atelier_jobs::Config>(some)?),
        "gpu" => drop(load::<atelier_gpu::Config>(some)?),
        "operator" => drop(load::<atelier_operator::Config>(some)?),
        "backup" => drop(load::<atelier_admin::config::Config>(some)?),
        "provision" => drop(provision::Config::load(some)?),
        "devcluster" => drop(devcluster::Config::read(file)?),
        "devs3" => drop(load::<devs3::Config>(some)?),
        other => bail!("{other:?} is no service"),
    }
    load(some)
}

/// As [`read`], in a process that has only these variables.
///
/// # Errors
/// What the process says if the service does not accept the configuration.
pub(crate) fn start(
    service: &str,
    file: &Path,
    variables: &BTreeMap<String, String>,
) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--exact", CASE, "--ignored", "--nocapture"])
        .env_clear()
        .envs(variables)
        .env(SERVICE, service)
        .env(FILE, file)
        .output()?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    let printed = out.lines().find_map(|line| line.split_once(MARK)).map(|(_, text)| text);
    let Some(text) = printed else { bail!("{service}: {out}{err}") };
    serde_json::from_str(text).with_context(|| text.to_owned())
}

/// The process of [`start`]: prints the configuration, or fails.
#[expect(clippy::print_stdout, reason = "read by the process that has started this one")]
pub(crate) fn in_process() {
    let (Some(service), Some(file)) = (std::env::var_os(SERVICE), std::env::var_os(FILE)) else { return };
    let configuration = read(service.to_str().unwrap(), &PathBuf::from(file)).unwrap();
    println!("\n{MARK}{configuration}");
}
