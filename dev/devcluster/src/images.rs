//! The images that can be pulled, and the commands that replace them.

use crate::config::ImageConfig;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, RwLock};

pub(crate) struct Images {
    known: RwLock<Vec<ImageConfig>>,
    /// Nodes, with the images that they have pulled from registries.
    pulled: Mutex<BTreeSet<(String, String)>>,
}

impl Images {
    pub(crate) fn new(images: Vec<ImageConfig>) -> Self {
        Self { known: RwLock::new(images), pulled: Mutex::default() }
    }

    pub(crate) fn add(&self, image: ImageConfig) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).push(image);
    }

    /// The first image whose pattern matches.
    pub(crate) fn find(&self, name: &str) -> Option<ImageConfig> {
        let images = self.known.read().unwrap_or_else(PoisonError::into_inner);
        images.iter().find(|image| image.matches(name)).cloned()
    }

    pub(crate) fn is_on(&self, node: &str, image: &str) -> bool {
        let pulled = self.pulled.lock().unwrap_or_else(PoisonError::into_inner);
        pulled.contains(&(node.to_owned(), image.to_owned()))
    }

    pub(crate) fn keep(&self, node: &str, image: &str) {
        let mut pulled = self.pulled.lock().unwrap_or_else(PoisonError::into_inner);
        pulled.insert((node.to_owned(), image.to_owned()));
    }
}
