//! Names for resource claims.

/// Id of their kind.
pub const CLAIMS: &str = "resourceclaims.resource.k8s.io";
/// Keeps an allocated claim from being removed.
pub const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
