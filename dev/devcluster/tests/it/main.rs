//! The development cluster through ordinary clients: what these cases say of it is what a real cluster does.
#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod access;
mod apply;
mod custom;
mod deletion;
mod objects;
mod pods;
mod restart;
mod scheduling;
mod support;
mod watching;
