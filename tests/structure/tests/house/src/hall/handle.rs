pub struct Handle;

impl Handle {
    pub fn turn(self) -> super::Door {
        super::Door
    }
}
