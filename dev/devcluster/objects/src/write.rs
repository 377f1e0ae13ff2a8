//! The parameters of one write to the API.

use crate::error::{Cause, Failure};
use crate::kinds::Resource;
use crate::ownership::Shape;
use crate::rbac::User;
use std::sync::Arc;

/// Treatment of unknown fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    Ignore,
    Warn,
    Strict,
}

/// One write: its target, its author and its options.
#[derive(Clone)]
pub struct Write<'a> {
    pub resource: &'a Arc<Resource>,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Empty, or `status`.
    pub subresource: &'a str,
    /// The field manager.
    pub manager: &'a str,
    /// The caller; `None` for the cluster's own components.
    pub user: Option<&'a User>,
    pub dry_run: bool,
    pub unknown: Unknown,
}

impl<'a> Write<'a> {
    /// A write by one of the cluster's own components.
    pub fn internal(
        resource: &'a Arc<Resource>,
        namespace: &'a str,
        name: &'a str,
        manager: &'a str,
    ) -> Self {
        Self {
            resource,
            namespace,
            name,
            subresource: "",
            manager,
            user: None,
            dry_run: false,
            unknown: Unknown::Ignore,
        }
    }

    /// How the fields of the kind are structured.
    pub fn shape(&self) -> Shape<'a> {
        match &self.resource.schema {
            Some(schema) => Shape::Schema(&schema.raw),
            None => Shape::Builtin(""),
        }
    }

    pub fn invalid(&self, name: &str, causes: &[Cause]) -> Failure {
        Failure::invalid(&self.resource.group, &self.resource.kind, name, causes)
    }
}
