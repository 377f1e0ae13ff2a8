mod door;
mod handle;

pub(crate) use door::Door;

pub struct Hall;

pub fn open() {
    door::open(Hall);
}
