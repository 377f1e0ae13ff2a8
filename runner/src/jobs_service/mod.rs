//! The jobs service's listener for workers (docs/JOBS.md).

mod client;
mod error;
mod session;
mod transfer;
mod wire;

pub(crate) use client::Client;
pub(crate) use error::Error;
pub(crate) use session::Session;
pub(crate) use wire::{
    Artifact, Attempt, INCOMPLETE, Instruction, Models, Phase, Progress, Refused, StopReason, UPLOAD_MISSING,
    Work,
};
