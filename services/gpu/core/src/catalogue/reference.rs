//! References of container images, as in the OCI distribution specification: `[registry/]name[:tag][@digest]`. Pure.

/// The longest name with its registry, in bytes.
const MAX_NAME: usize = 255;
/// The longest tag, in bytes.
const MAX_TAG: usize = 128;

/// Checks a reference. It needs a tag or a digest: what runs must not depend on the meaning of `latest`.
///
/// # Errors
/// What is wrong, in words that follow the name of the field.
pub(crate) fn check_reference(text: &str) -> Result<(), &'static str> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // a colon before the last slash is that of a port
    let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match rest[name_start..].split_once(':') {
        Some((last, tag)) => (&rest[..name_start + last.len()], Some(tag)),
        None => (rest, None),
    };
    if !is_name(name) {
        return Err("must be `[registry/]name[:tag][@digest]`, with a name in lower case");
    }
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("has a tag that is not 1 to 128 letters, digits, `_`, `.` and `-`");
    }
    match digest {
        Some(digest) if !is_digest(digest) => Err("has a digest that is not `sha256:` and 64 hex digits"),
        None if tag.is_none() => Err("must have a tag or a digest"),
        _ => Ok(()),
    }
}

/// Docker Hub, where names without a registry are.
const DOCKER_HUB: &str = "docker.io";

/// Returns the registry of a valid reference, as [`parse_registry`] returns it.
pub fn registry_of(reference: &str) -> String {
    match reference.split_once('/') {
        Some((first, _)) if is_registry_like(first) => canonical(first),
        _ => DOCKER_HUB.to_owned(),
    }
}

/// Parses a registry: a host, with a port if it has one. One registry has one form.
///
/// # Errors
/// What is wrong, in words that follow the name of the field.
pub fn parse_registry(text: &str) -> Result<String, &'static str> {
    if text.len() <= MAX_NAME && is_registry_like(text) && is_registry(text) {
        Ok(canonical(text))
    } else {
        Err("must be the host of a registry, with its port if it has one, as in names of images: `ghcr.io`, \
             `registry.example.com:5000`")
    }
}

fn canonical(registry: &str) -> String {
    let registry = registry.to_ascii_lowercase();
    match registry.as_str() {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB.to_owned(),
        _ => registry,
    }
}

fn is_name(name: &str) -> bool {
    let (registry, path) = match name.split_once('/') {
        Some((first, rest)) if is_registry_like(first) => (Some(first), rest),
        _ => (None, name),
    };
    name.len() <= MAX_NAME && registry.is_none_or(is_registry) && path.split('/').all(is_path_component)
}

/// Whether the first component of a name is a registry, and not a part of the path.
fn is_registry_like(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':']) || first.bytes().any(|b| b.is_ascii_uppercase())
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.split('.').all(is_domain_component),
    };
    is_host
        && port.is_none_or(|port| !port.starts_with('+') && port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_domain_component(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Lower-case letters and digits, separated by `.`, `_`, `__` or any number of `-`.
fn is_path_component(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = text.split(is_word).filter(|separator| !separator.is_empty());
    text.starts_with(is_word)
        && text.ends_with(is_word)
        && separators.into_iter().all(|s| matches!(s, "." | "_" | "__") || s.bytes().all(|b| b == b'-'))
}

fn is_tag(text: &str) -> bool {
    (1..=MAX_TAG).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
        && !text.starts_with(['.', '-'])
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    #[test]
    fn references_with_a_tag_or_a_digest_are_accepted() {
        for name in [
            "ubuntu",
            "library/ubuntu",
            "a_b/c__d/e-f/g---h/i.j",
            "ghcr.io/owner/image",
            "localhost/image",
            "registry.example:5000/team/image",
            "10.0.0.1:5000/image",
            "[::1]:5000/image",
            "[fe80::1]/image",
            "A.b/c",
        ] {
            for end in [":1", ":v1.2_3-x", ":_", &format!("@{DIGEST}"), &format!(":1@{DIGEST}")] {
                assert_eq!(check_reference(&format!("{name}{end}")), Ok(()), "{name}{end}");
            }
            assert_eq!(check_reference(name), Err("must have a tag or a digest"), "{name}");
        }
    }

    #[test]
    fn others_are_refused_with_the_reason() {
        for text in [
            "",
            ":1",
            "Ubuntu:1",
            "a//b:1",
            "/a:1",
            "a/:1",
            "a b:1",
            "a$b:1",
            "https://ghcr.io/a:1",
            "-a:1",
            "a-:1",
            "a..b/c:1",
            "a_-b:1",
            "a___b:1",
            "localhost:x/a:1",
            "localhost:0/a:1",
            "localhost:+1/a:1",
            "ghcr.io:99999/a:1",
            "-x.io/a:1",
            "[::g]/a:1",
            "a\n:1",
            "é:1",
            &format!("{}:1", "a".repeat(256)),
        ] {
            assert!(check_reference(text).is_err_and(|why| why.starts_with("must be")), "{text:?}");
        }
        for text in ["a:", "a:-1", "a:.1", "a:1 ", "a:1:2", &format!("a:{}", "x".repeat(129))] {
            assert!(check_reference(text).is_err_and(|why| why.contains("tag that is not")), "{text:?}");
        }
        for digest in
            ["", "sha256:", "sha256:12", "md5:d41d8cd98f00b204e9800998ecf8427e", &DIGEST.to_uppercase()]
        {
            let text = format!("a:1@{digest}");
            assert!(check_reference(&text).is_err_and(|why| why.contains("digest")), "{text}");
        }
    }

    #[test]
    fn a_registry_has_one_form() {
        for (reference, registry) in [
            ("ubuntu:1", "docker.io"),
            ("team/app:1", "docker.io"),
            ("index.docker.io/team/app:1", "docker.io"),
            ("GHCR.io/team/app:1", "ghcr.io"),
            ("localhost/app:1", "localhost"),
            ("localhost:5000/app:1", "localhost:5000"),
            ("[::1]:5000/app:1", "[::1]:5000"),
        ] {
            assert_eq!(registry_of(reference), registry, "{reference}");
        }
        for (text, registry) in
            [("index.docker.io", "docker.io"), ("GHCR.io", "ghcr.io"), ("localhost:5000", "localhost:5000")]
        {
            assert_eq!(parse_registry(text).as_deref(), Ok(registry), "{text}");
        }
        for text in ["", "team", "https://ghcr.io", "ghcr.io/team", "ghcr.io:0", "a b.c", "-x.io"] {
            assert!(parse_registry(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_checked_without_a_panic(text in "[a-zA-Z0-9:/@._\\[\\]é -]{0,40}") {
            if check_reference(&text).is_ok() {
                prop_assert!(text.is_ascii() && !text.contains(' '));
            }
        }
    }
}
