//! A platform of its own for a benchmark of the whole.

use std::path::PathBuf;

use machine::{
    access::Access,
    config::Config,
    own::{Needs, Task},
};
use xtask::packages::Consent;

use super::victims::Processes;

/// What a benchmark measures on a platform with one gateway.
pub(super) fn measure<W>(
    jobs: bool,
    console: Option<PathBuf>,
    work: impl FnOnce(Access, Processes) -> W + 'static,
) -> anyhow::Result<Task>
where
    W: Future<Output = anyhow::Result<()>> + 'static,
{
    let (mut config, _) = Config::load()?;
    config.data.push("bench");
    config.otlp = None;
    let needs = Needs { config, consent: Consent::new(false), gateways: 1, jobs, console, drilled: None };
    Ok(Task::new(needs, async move |platform| work(platform.access.clone(), Processes::of(platform)?).await))
}

/// The value that a share of the sorted values does not exceed; 0 of none.
pub(super) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = (values.len() as f64 * share).ceil() as usize;
    values.get(index.max(1) - 1).copied().unwrap_or_default()
}
