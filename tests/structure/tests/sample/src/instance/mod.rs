mod model;
mod store;

pub(crate) use model::Model;

pub struct Instance;

pub fn open() {
    model::open(Instance);
}
