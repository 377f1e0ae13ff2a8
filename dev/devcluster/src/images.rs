//! The images that can be pulled, and the commands that stand for them.

use crate::config::ImageConfig;
use std::sync::{PoisonError, RwLock};

pub(crate) struct Images(RwLock<Vec<ImageConfig>>);

impl Images {
    pub(crate) fn new(images: Vec<ImageConfig>) -> Self {
        Self(RwLock::new(images))
    }

    pub(crate) fn add(&self, image: ImageConfig) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(image);
    }

    /// The first image whose pattern matches.
    pub(crate) fn find(&self, name: &str) -> Option<ImageConfig> {
        let images = self.0.read().unwrap_or_else(PoisonError::into_inner);
        images.iter().find(|image| image.matches(name)).cloned()
    }
}
