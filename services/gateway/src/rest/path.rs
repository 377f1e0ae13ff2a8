//! Refuses paths that two programs could read differently, before a decision depends on them.

/// Returns whether every program interprets the path in the same way: it has no dot segments, empty segments
/// or backslashes, and no percent-encoded characters that are syntax or not text. No path of the API has any
/// of these.
pub(crate) fn is_unambiguous(path: &str) -> bool {
    let Some(inner) = path.strip_prefix('/') else { return false };
    let segments_ok = inner.is_empty() || inner.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    let plain = !path.contains(['\\', ';']);
    segments_ok && plain && encoded_ok(path.as_bytes())
}

fn encoded_ok(path: &[u8]) -> bool {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(at, _)| {
        let digit = |at: usize| path.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (digit(at + 1), digit(at + 2)) {
            (Some(high), Some(low)) => {
                let byte = high * 16 + low;
                byte >= 0x20 && byte != 0x7f && !b"/\\.%;".iter().any(|b| u32::from(*b) == byte)
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::is_unambiguous;

    #[test]
    fn ambiguous_paths_are_refused() {
        for good in [
            "/",
            "/v1/stock",
            "/v1/gpu-specs/3080-small-4-1",
            "/.well-known/jwks.json",
            "/v1/x/a%20b",
            "/v1/a.b",
        ] {
            assert!(is_unambiguous(good), "{good}");
        }
        for bad in [
            "",
            "*",
            "v1",
            "//internal",
            "/v1//stock",
            "/v1/stock/",
            "/v1/../internal",
            "/v1/./stock",
            "/v1/..",
            "/v1/%2e%2e/internal",
            "/v1/%2E./internal",
            "/v1%2finternal",
            "/v1%5cinternal",
            "/v1\\internal",
            "/v1/%252e",
            "/v1/a%00",
            "/v1/a%0a",
            "/v1/%zz",
            "/v1/%2",
            "/v1/%",
            "/v1;x/stock",
        ] {
            assert!(!is_unambiguous(bad), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_accepted_path_decodes_to_another_shape(path in "/[a-z/.%2efF\\\\]{0,24}") {
            if is_unambiguous(&path) {
                let decoded = path.replace("%2e", ".").replace("%2E", ".").replace("%2f", "/").replace("%2F", "/");
                proptest::prop_assert_eq!(&decoded, &path);
                proptest::prop_assert!(!path.split('/').any(|s| s == ".." || s == "."));
            }
        }
    }
}
