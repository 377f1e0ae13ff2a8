//! The decisions of the operator: the next step of a unit, of a storage and of a tenant's namespace, as
//! values.
//!
//! | part | job |
//! |---|---|
//! | [`settings`] | the settings that plans depend on |
//! | [`conditions`], [`object_names`] | conditions of a status; names of objects |
//! | [`observation`] | the parts of the cluster's objects that decisions depend on |
//! | [`mod@unit`], [`storage`], [`tenant`] | the next step, and the objects that it applies |
//!
//! No client, clock, task or log may enter: a plan depends only on its arguments, so that a test can describe
//! a cluster in a few lines (`tests/model` runs units against thousands of them). `controller` of the
//! operator carries out the plans.

pub mod conditions;
pub mod object_names;
pub mod observation;
pub mod settings;
pub mod storage;
pub mod tenant;
pub mod unit;
