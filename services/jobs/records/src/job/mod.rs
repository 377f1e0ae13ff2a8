//! Jobs of tenants, and their rows.

pub mod list;
pub mod list_store;
pub mod store;
mod view;

pub use store::{
    count_open, delete_ended, find, find_open, lock_for_attempt, record_begin, record_end, sum_costs,
};
pub use view::JobView;
