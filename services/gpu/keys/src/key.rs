//! Public keys in OpenSSH format.

use api::{Problem, ProblemType};
use russh::keys::{Algorithm, HashAlg, PublicKey};

/// The longest line, in bytes.
const MAX_LINE: usize = 4096;
/// The longest name, in characters.
pub(super) const MAX_NAME: usize = 100;

/// A public key that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Type and key, without options and comment.
    pub(super) public_key: String,
    /// `SHA256:…`, as `ssh-keygen -l` prints it.
    pub(super) fingerprint: String,
    /// The comment of the line; may be empty.
    pub(super) comment: String,
}

impl Key {
    /// Parses a line of an `id_….pub` file.
    ///
    /// # Errors
    /// Why the line is not accepted, for the user.
    pub(super) fn parse(line: &str) -> Result<Self, &'static str> {
        let line = line.trim();
        if line.len() > MAX_LINE || line.contains(['\n', '\r', '\0']) {
            return Err("must be one line of at most 4096 characters");
        }
        if line.contains("PRIVATE KEY") {
            return Err("is a private key: keep it, and send the line of the .pub file");
        }
        let key = PublicKey::from_openssh(line).map_err(
            |_| "is not a public key in OpenSSH format, such as the line of ~/.ssh/id_ed25519.pub",
        )?;
        if !matches!(key.algorithm(), Algorithm::Ed25519 | Algorithm::Ecdsa { .. }) {
            return Err("must be an ed25519 or ecdsa key: create one with `ssh-keygen -t ed25519`");
        }
        let bare = PublicKey::new(key.key_data().clone(), "");
        let public_key = bare.to_openssh().map_err(|_| "cannot be written in OpenSSH format")?;
        let comment = api::text::composed(key.comment().as_str_lossy());
        Ok(Self { public_key: public_key.trim().to_owned(), fingerprint: fingerprint(&key), comment })
    }

    /// Returns the name for a key that was sent without one: its comment, if that is printable.
    pub(super) fn default_name(&self) -> String {
        if api::checks::is_display_name(&self.comment, MAX_NAME) {
            self.comment.clone()
        } else {
            "key".to_owned()
        }
    }
}

/// Returns the fingerprint of a key, as `ssh-keygen -l` prints it.
pub fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// The user or the instance already has the key.
pub(super) fn exists() -> Problem {
    Problem::new(ProblemType::SshKeyExists, "This key has been added before.")
}

/// The user or the instance has reached its limit of keys.
pub(super) fn too_many(limit: i64) -> Problem {
    let detail = format!("There are already {limit} SSH keys, the maximum.");
    Problem::new(ProblemType::TooManySshKeys, detail).with("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    #[test]
    fn a_public_key_is_kept_without_its_comment() {
        let key = Key::parse(&format!(" {LINE}\n")).unwrap();
        assert_eq!(key.public_key, LINE.rsplit_once(' ').unwrap().0);
        assert_eq!(key.fingerprint, "SHA256:UCUiLr7Pjs9wFFJMDByLgc3NrtdU344OgUM45wZPcIQ");
        assert_eq!(key.default_name(), "user@example.com");
    }

    #[test]
    fn what_is_no_acceptable_key_is_refused() {
        let rsa = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDJ2GqS3q8y8T6oWm1m5Y1yXqg9b8wVnV8m1Tz5mJ";
        let options = format!("command=\"sh\" {LINE}");
        let two = format!("{LINE}\n{LINE}");
        for bad in
            ["", "nonsense", rsa, &options, &two, "-----BEGIN OPENSSH PRIVATE KEY-----", &"x".repeat(5000)]
        {
            assert!(Key::parse(bad).is_err(), "{bad:.40}");
        }
    }
}
