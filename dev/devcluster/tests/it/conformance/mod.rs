//! What Kubernetes does, too.

mod access;
mod apply;
mod custom;
mod deletion;
mod objects;
mod runtimes;
mod watching;
