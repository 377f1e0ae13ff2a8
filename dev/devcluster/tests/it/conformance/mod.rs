//! Behaviour that a real Kubernetes API server has too.

mod access;
mod apply;
mod custom;
mod deletion;
mod objects;
mod runtimes;
mod watching;
