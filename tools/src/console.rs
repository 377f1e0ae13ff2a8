//! `cargo xtask console`: checks, builds and tests the console. `console/package.json` has the scripts.

use std::{path::Path, time::Instant};

use anyhow::{Context, ensure};
use machine::{
    access::Access,
    config::Config,
    process::{self, Running},
};
use nix::sys::signal::Signal;
use tokio::process::Command;
use xtask::packages::{self, Consent};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Instead, run its stories on the platform that `up` has started here
    #[arg(long)]
    stories: bool,
}

/// In this order, so that failures are found early.
const SCRIPTS: [&str; 5] = ["check", "test", "build", "sizes", "e2e"];

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let folder = packages::for_console(Consent::new(args.yes))?;
    if args.stories {
        let access = Access::read(&Config::data_of_running()?.join(Access::FILE))
            .context("start the platform with `cargo xtask up`")?;
        let mut stories = npm(&folder, "stories");
        stories.env("CONSOLE_URL", &access.gateway);
        stories.env("ADMIN_EMAIL", &access.administrator.email);
        stories.env("ADMIN_PASSWORD", &access.administrator.password);
        stories.env("DESIGNER_EMAIL", &access.designer.email);
        stories.env("DESIGNER_PASSWORD", &access.designer.password);
        return succeed("stories", stories).await;
    }
    for script in SCRIPTS {
        succeed(script, npm(&folder, script)).await?;
    }
    Ok(())
}

fn npm(folder: &Path, script: &str) -> Command {
    let mut npm = process::command("npm", Signal::SIGTERM);
    // the message of a failed case must not depend on a terminal
    npm.current_dir(folder).args(["run", "--silent", script]).env("CI", "1");
    npm
}

async fn succeed(script: &str, command: Command) -> anyhow::Result<()> {
    let begun = Instant::now();
    let ended = Running::spawn("npm", command)?.ended().await;
    ensure!(ended == "exit status: 0", "`npm run {script}` in console/ did not succeed ({ended})");
    xtask::pace::record(&format!("the console: {script}"), begun)
}
