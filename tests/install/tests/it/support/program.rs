//! The start of a service's program, up to its configuration, in a process of its own: variables of the environment belong
//! to a process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// Name of the case that is such a process; see [`in_process`].
pub(crate) const CASE: &str = "reads_its_configuration";

const SERVICE: &str = "INSTALL_TEST_SERVICE";
const FILE: &str = "INSTALL_TEST_FILE";
const MARK: &str = "the configuration is ";

/// Reads `file` and the environment as a program does. Returns what it has read.
///
/// # Errors
/// If the program does not accept the configuration.
pub(crate) fn read(program: &str, file: &Path) -> anyhow::Result<Value> {
    use service::config::load;
    let some = Some(file);
    match program {
        "backup" => drop(load::<atelier_admin::config::Config>(some)?),
        "provision" => drop(provision::Config::load(some)?),
        "devcluster" => drop(devcluster::Config::read(file)?),
        "devs3" => drop(load::<devs3::Config>(some)?),
        name if platform::service(name).is_some() => check(name, file)?,
        other => bail!("{other:?} is no program"),
    }
    load(some)
}

/// The command `check-config` of a service, which is built beside the tests.
fn check(service: &str, file: &Path) -> anyhow::Result<()> {
    let tests = std::env::current_exe()?;
    let folder = tests.ancestors().nth(2).context("no folder of programs")?;
    let program = folder.join(format!("atelier-{service}"));
    let output = Command::new(&program).args(["check-config", "--config"]).arg(file).output();
    let output = output.with_context(|| format!("build {} first (cargo build --bins)", program.display()))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
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
