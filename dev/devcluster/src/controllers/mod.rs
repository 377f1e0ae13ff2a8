//! What keeps the cluster in order beside the scheduler and the nodes: garbage collection, namespaces, volume
//! claims, resource claims, node life, events.

pub(crate) mod claims;
pub(crate) mod events;
pub(crate) mod gc;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod volumes;
