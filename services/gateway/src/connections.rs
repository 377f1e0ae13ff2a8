//! Open connections by client address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::limits::network;

/// The open connections of each client address (an IPv6 address by its /64). Clones share them.
#[derive(Clone)]
pub(crate) struct Connections {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
}

/// One open connection. It is closed when this is dropped.
pub(crate) struct Connection {
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl Connections {
    /// At most `most` connections from one address.
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), most: most.max(1) }
    }

    /// Counts a connection. Returns none if its address has as many as it may.
    pub(crate) fn open(&self, peer: IpAddr) -> Option<Connection> {
        let address = network(peer);
        let mut open = lock(&self.open);
        let count = open.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Connection { open: Arc::clone(&self.open), address })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

fn lock(open: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_number_of_connections() {
        let connections = Connections::new(2);
        let open = |peer: &str| connections.open(peer.parse().unwrap());
        let (one, two) = (open("10.0.0.1"), open("::ffff:10.0.0.1"));
        assert!(one.is_some() && two.is_some());
        assert!(open("10.0.0.1").is_none());
        assert!(open("10.0.0.2").is_some(), "another address");
        drop(one);
        assert!(open("10.0.0.1").is_some());
        drop(two);
        assert!(lock(&connections.open).is_empty());
    }
}
