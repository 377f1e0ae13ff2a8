//! Names of objects: those for the ids that callers use, and fixed ones.

use sha2::{Digest as _, Sha256};

/// The service account of pods in the namespaces of tenants and units. It has no rights and no token. The
/// namespace's `default` is not suitable: the cluster's controllers create it some time after the namespace.
pub const SERVICE_ACCOUNT: &str = "atelier";

/// The object's name for an id: `inst_<32 hex>` and `inst-<32 hex>` are `inst-<32 hex>`; any other text is
/// the prefix and the first 32 hex digits of its SHA-256, so that scripts may use ids of their own.
pub fn name_of(prefix: &str, id: &str) -> String {
    let own = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(['-', '_']));
    match own {
        Some(hex) if hex.len() == 32 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) => {
            format!("{prefix}-{hex}")
        }
        _ => format!("{prefix}-{}", digest(&[id])),
    }
}

/// The first 32 hex digits of the SHA-256 of the parts, each with its length before it.
pub fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_platform_keep_their_digits_and_others_are_hashed() {
        let hex = "01939f0a7c3d7e6b8a1f4f0d5c2b1a00";
        assert_eq!(name_of("inst", &format!("inst_{hex}")), format!("inst-{hex}"));
        assert_eq!(name_of("inst", &format!("inst-{hex}")), format!("inst-{hex}"));
        let own = name_of("ten", "studio 7");
        assert_eq!((own.len(), name_of("ten", "studio 7")), (36, own.clone()));
        assert_ne!(name_of("ten", "studio 8"), own);
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
    }
}
