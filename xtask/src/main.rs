//! `cargo xtask …`: the developer's commands. Compiles what a command needs, in one run of cargo, while the packages that
//! the machine lacks are installed; then `atelier-tools` carries the command out.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod build;
mod check;

use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::Context;
use xtask::{
    commands::{Builds, COMMANDS},
    packages::{self, Consent},
};

fn main() -> ExitCode {
    match run(&std::env::args_os().skip(1).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        print_help();
        let is_question = matches!(name, "help" | "--help" | "-h");
        return Ok(if is_question { ExitCode::SUCCESS } else { ExitCode::from(2) });
    };
    let asks_for_help = arguments.iter().any(|one| one == "--help" || one == "-h");
    let consent = Consent::new(arguments.iter().any(|one| one == "--yes"));
    if command.builds == Builds::Nothing {
        check::run(&arguments[1..], consent)?;
        return Ok(ExitCode::SUCCESS);
    }
    let builds = if asks_for_help { Builds::Tools } else { command.builds };
    std::thread::scope(|scope| {
        let installs = scope.spawn(|| {
            let begun = Instant::now();
            packages::install_ahead(consent, command.name)?;
            xtask::pace::record("packages, beside the build", begun)
        });
        build::build(builds)?;
        installs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let tools = build::folder()?.join("atelier-tools");
    // instead of this process: the tool gets its terminal and its signals
    let error = Command::new(&tools).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", tools.display()))
}

fn print_help() {
    println!("Atelier's developer commands\n\nUsage: cargo xtask <COMMAND> [--help]\n\nCommands:");
    for command in &COMMANDS {
        println!("  {:<14} {}", command.name, command.about);
    }
}
