//! Files of access tokens.

use std::path::{Path, PathBuf};

use auth::{Claims, Role};
use ids::TenantId;
use testkit::Issuer;

use super::load;

/// Files with a token in each line.
pub(crate) struct Tokens {
    pub(crate) one: PathBuf,
    pub(crate) repeating: PathBuf,
    pub(crate) unseen: PathBuf,
}

impl Tokens {
    pub(crate) fn write(folder: &Path, issuer: &Issuer, repeating: usize, unseen: usize) -> Self {
        std::fs::write(folder.join("load.lua"), load::SCRIPT).unwrap();
        let file = |name: &str, tokens: Vec<String>| {
            let path = folder.join(name);
            std::fs::write(&path, tokens.join("\n")).unwrap();
            path
        };
        let mut all = sign(issuer, 1 + repeating + unseen);
        let unseen = file("unseen", all.split_off(1 + repeating));
        let repeating = file("repeating", all.split_off(1));
        Self { one: file("one", all), repeating, unseen }
    }
}

/// Tokens that are valid for an hour, each of another user.
fn sign(issuer: &Issuer, count: usize) -> Vec<String> {
    let threads = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        let signers: Vec<_> = (0..threads)
            .map(|thread| {
                let count = count / threads + usize::from(thread < count % threads);
                scope.spawn(move || {
                    let tenant = TenantId::new();
                    let token = || {
                        let claims = issuer.claims(Some((tenant, Role::Member)), false);
                        issuer.sign(&Claims { exp: claims.exp + 3600, ..claims })
                    };
                    std::iter::repeat_with(token).take(count).collect::<Vec<_>>()
                })
            })
            .collect();
        signers.into_iter().flat_map(|signer| signer.join().unwrap()).collect()
    })
}
