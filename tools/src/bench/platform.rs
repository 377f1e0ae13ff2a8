//! A platform of its own for a benchmark of the whole.

use anyhow::bail;

use super::victims::Processes;
use crate::{
    config::Config,
    demo::Access,
    up::{self, Needs, platform::Platform},
};
use xtask::packages::Consent;

/// Starts a platform, lets `work` measure it, and stops it.
pub(super) async fn measure(
    needs: Needs,
    work: impl AsyncFnOnce(&Access, &Processes) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut config, _) = Config::load()?;
    config.data.push("bench");
    config.otlp = None;
    let (mut platform, _lock) = up::start_for_bench(config, Consent::new(false), needs).await?;
    let measured = measure_running(&mut platform, work).await;
    println!("stopping");
    platform.stop().await;
    measured
}

async fn measure_running(
    platform: &mut Platform,
    work: impl AsyncFnOnce(&Access, &Processes) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let access = Access::read(&platform.data.join(Access::FILE))?;
    let processes = Processes::of(platform)?;
    tokio::select! {
        done = work(&access, &processes) => done,
        ended = platform.watch(std::future::pending()) => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            bail!("interrupted")
        }
    }
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
