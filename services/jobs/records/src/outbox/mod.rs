//! Messages to publish at the message broker: events of jobs, their progress, and refusals of messages.

mod store;

pub use store::{Content, Entry, Event, again, age, delete, first, is_empty, refused, tell_progress};
