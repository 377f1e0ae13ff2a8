//! IP addresses of pods, from 127.64.0.0/10: on Linux, every address of 127.0.0.0/8 is local. Another cluster on the
//! same machine uses the same range, so each starts at a random position.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

const FIRST: u32 = 0x7f40_0000;
const COUNT: u32 = 1 << 22;

pub(crate) struct Addresses(Mutex<Used>);

struct Used {
    next: u32,
    all: HashSet<String>,
}

impl Default for Addresses {
    fn default() -> Self {
        Self(Mutex::new(Used { next: rand::random_range(0..COUNT), all: HashSet::new() }))
    }
}

impl Addresses {
    /// Marks an address as used.
    pub(crate) fn keep(&self, address: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.insert(address.to_owned());
    }

    /// An unused address.
    pub(crate) fn allocate(&self) -> String {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let address = Ipv4Addr::from(FIRST + used.next % COUNT).to_string();
            used.next = used.next.wrapping_add(1);
            if !address.ends_with(".0") && !address.ends_with(".255") && used.all.insert(address.clone()) {
                return address;
            }
        }
    }

    pub(crate) fn release(&self, address: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.remove(address);
    }
}
