//! The addresses of the services.

use std::{
    collections::BTreeMap,
    ops::{Index, IndexMut},
};

use serde::Deserialize;
use url::Url;

/// Addresses of the services with paths in the list of services, `http://host:port` each, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, Url>")]
pub struct Services(BTreeMap<&'static str, Url>);

impl Services {
    /// Each service at the address that `url` returns for its name.
    pub fn new(url: impl Fn(&'static str) -> Url) -> Self {
        Self(platform::routed().map(|service| (service.name.as_str(), url(&service.name))).collect())
    }

    /// All of them, by name, in the order of the list.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &Url)> {
        platform::routed().map(|service| (service.name.as_str(), &self[&service.name]))
    }
}

/// Panics if the gateway does not forward to a service of this name.
impl Index<&str> for Services {
    type Output = Url;

    fn index(&self, name: &str) -> &Url {
        &self.0[name]
    }
}

impl IndexMut<&str> for Services {
    fn index_mut(&mut self, name: &str) -> &mut Url {
        self.0.get_mut(name).expect("a service of the list")
    }
}

/// Why addresses are refused.
#[derive(Debug, thiserror::Error)]
pub enum InvalidServices {
    /// A service of the list has none.
    #[error("the service {0:?} has no address")]
    Missing(&'static str),
    /// One is of no such service.
    #[error("the gateway forwards nothing to a service {0:?}")]
    Unknown(String),
}

impl TryFrom<BTreeMap<String, Url>> for Services {
    type Error = InvalidServices;

    fn try_from(mut urls: BTreeMap<String, Url>) -> Result<Self, InvalidServices> {
        let known = platform::routed().map(|service| {
            let url = urls.remove(&service.name).ok_or(InvalidServices::Missing(&service.name))?;
            Ok((service.name.as_str(), url))
        });
        let known = known.collect::<Result<_, _>>()?;
        match urls.into_keys().next() {
            None => Ok(Self(known)),
            Some(unknown) => Err(InvalidServices::Unknown(unknown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_of_the_list_needs_an_address_and_no_other_has_one() {
        let urls = || -> BTreeMap<_, Url> {
            platform::routed().map(|one| (one.name.clone(), "http://127.0.0.1:1".parse().unwrap())).collect()
        };
        let refusal = |urls: BTreeMap<String, Url>| Services::try_from(urls).unwrap_err().to_string();
        assert_eq!(Services::try_from(urls()).unwrap().all().count(), platform::routed().count());
        let mut less = urls();
        let _ = less.remove("gpu");
        assert_eq!(refusal(less), "the service \"gpu\" has no address");
        let mut more = urls();
        let _ = more.insert("gpus".to_owned(), "http://127.0.0.1:1".parse().unwrap());
        assert_eq!(refusal(more), "the gateway forwards nothing to a service \"gpus\"");
    }
}
