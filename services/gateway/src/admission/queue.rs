//! A queue that is fair between shares and ranked by class. Of the classes that wait, each is served in
//! proportion to its weight; within a class, the share with the fewest requests at the service is next, and
//! among equal shares the one that was served longest ago.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{Class, Share};

const CLASSES: [Class; 3] = [Class::Urgent, Class::Ordinary, Class::Background];

/// Identifies an entry of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// The queue.
pub(super) struct FairQueue<T> {
    classes: [OfClass<T>; 3],
    /// The deficit of each class, in weights.
    credits: [i64; 3],
    /// Number of the next ticket or turn.
    next: u64,
}

struct OfClass<T> {
    shares: HashMap<Share, OfShare<T>>,
    /// The shares in the order in which they are served: requests at the service, turn.
    order: BTreeSet<(usize, u64, Share)>,
    len: usize,
}

struct OfShare<T> {
    entries: VecDeque<(Ticket, T)>,
    in_flight: usize,
    turn: u64,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        let class = || OfClass { shares: HashMap::new(), order: BTreeSet::new(), len: 0 };
        Self { classes: [class(), class(), class()], credits: [0; 3], next: 0 }
    }
}

impl<T> FairQueue<T> {
    pub(super) fn len(&self) -> usize {
        self.classes.iter().map(|class| class.len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries of one share.
    pub(super) fn len_of(&self, share: Share) -> usize {
        self.classes.iter().filter_map(|class| class.shares.get(&share)).map(|of| of.entries.len()).sum()
    }

    /// Adds an entry of a share that has `in_flight` requests at the service.
    pub(super) fn push(&mut self, class: Class, share: Share, in_flight: usize, entry: T) -> Ticket {
        let number = self.number();
        let ticket = Ticket(number);
        let class = &mut self.classes[class as usize];
        class.len += 1;
        let of = class.shares.entry(share).or_insert_with(|| {
            class.order.insert((in_flight, number, share));
            OfShare { entries: VecDeque::new(), in_flight, turn: number }
        });
        of.entries.push_back((ticket, entry));
        ticket
    }

    /// Removes an entry, if it is still there.
    pub(super) fn remove(&mut self, class: Class, share: Share, ticket: Ticket) {
        let class = &mut self.classes[class as usize];
        let Some(of) = class.shares.get_mut(&share) else { return };
        let before = of.entries.len();
        of.entries.retain(|(other, _)| *other != ticket);
        class.len -= before - of.entries.len();
        if of.entries.is_empty() {
            class.order.remove(&(of.in_flight, of.turn, share));
            class.shares.remove(&share);
        }
    }

    /// Tells how many requests of the share are at the service.
    pub(super) fn set_in_flight(&mut self, share: Share, in_flight: usize) {
        for class in &mut self.classes {
            if let Some(of) = class.shares.get_mut(&share) {
                class.order.remove(&(of.in_flight, of.turn, share));
                of.in_flight = in_flight;
                class.order.insert((in_flight, of.turn, share));
            }
        }
    }

    /// Takes the next entry of a share that has fewer than `most` requests at the service.
    pub(super) fn pop(&mut self, most: usize) -> Option<(Share, T)> {
        let waits = |class: &OfClass<T>| class.order.first().is_some_and(|(in_flight, ..)| *in_flight < most);
        let waiting: Vec<Class> =
            CLASSES.into_iter().filter(|class| waits(&self.classes[*class as usize])).collect();
        let mut total = 0;
        for class in &waiting {
            self.credits[*class as usize] += class.weight();
            total += class.weight();
        }
        // among equals, the most urgent
        let class = waiting.into_iter().rev().max_by_key(|class| self.credits[*class as usize])?;
        self.credits[class as usize] -= total;
        let turn = self.number();
        self.classes[class as usize].pop(turn)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl<T> OfClass<T> {
    fn pop(&mut self, turn: u64) -> Option<(Share, T)> {
        let (in_flight, _, share) = self.order.pop_first()?;
        let of = self.shares.get_mut(&share)?;
        let (_, entry) = of.entries.pop_front()?;
        self.len -= 1;
        if of.entries.is_empty() {
            self.shares.remove(&share);
        } else {
            of.turn = turn;
            self.order.insert((in_flight, turn, share));
        }
        Some((share, entry))
    }
}

#[cfg(test)]
mod tests {
    use ids::TenantId;
    use proptest::prelude::*;

    use super::*;

    fn shares(n: usize) -> Vec<Share> {
        (0..n).map(|_| Share::Tenant(TenantId::new())).collect()
    }

    fn drain(queue: &mut FairQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(usize::MAX)).map(|(_, entry)| entry).collect()
    }

    #[test]
    fn shares_take_turns_however_many_requests_each_has() {
        let (mut queue, shares) = (FairQueue::default(), shares(2));
        for n in 0..4 {
            queue.push(Class::Ordinary, shares[0], 0, n);
        }
        queue.push(Class::Ordinary, shares[1], 0, 100);
        queue.push(Class::Ordinary, shares[1], 0, 101);
        assert_eq!(drain(&mut queue), [0, 100, 1, 101, 2, 3]);
    }

    #[test]
    fn the_share_with_the_fewest_requests_at_the_service_is_next() {
        let (mut queue, shares) = (FairQueue::default(), shares(2));
        queue.push(Class::Ordinary, shares[0], 3, 1);
        queue.push(Class::Ordinary, shares[1], 1, 2);
        queue.push(Class::Ordinary, shares[1], 1, 3);
        assert_eq!(queue.pop(usize::MAX).unwrap().1, 2);
        queue.set_in_flight(shares[0], 0);
        assert_eq!(queue.pop(usize::MAX).unwrap().1, 1);
        assert!(queue.pop(1).is_none(), "the other has as many as it may");
        assert_eq!(queue.pop(2).unwrap().1, 3);
    }

    #[test]
    fn urgent_requests_come_first_and_leave_others_their_part() {
        let (mut queue, share) = (FairQueue::default(), shares(1)[0]);
        for _ in 0..210 {
            for class in CLASSES {
                queue.push(class, share, 0, class as u32);
            }
        }
        let first: Vec<u32> = (0..210).map(|_| queue.pop(usize::MAX).unwrap().1).collect();
        let count = |class: Class| first.iter().filter(|one| **one == class as u32).count();
        assert_eq!(first[0], Class::Urgent as u32);
        assert_eq!([count(Class::Urgent), count(Class::Ordinary), count(Class::Background)], [160, 40, 10]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_served_twice(
            steps in prop::collection::vec((0_usize..3, 0_usize..4, 0_usize..3, 0_u8..4), 1..200),
        ) {
            let (mut queue, shares) = (FairQueue::default(), shares(4));
            let mut inside: Vec<(Class, Share, Ticket, u32)> = Vec::new();
            for (n, (class, share, in_flight, what)) in (0..).zip(steps) {
                let (class, share) = (CLASSES[class], shares[share]);
                match what {
                    0 | 1 => inside.push((class, share, queue.push(class, share, in_flight, n), n)),
                    2 => {
                        if let Some((from, entry)) = queue.pop(usize::MAX) {
                            let at = inside.iter().position(|(_, share, _, n)| (*share, *n) == (from, entry));
                            inside.remove(at.expect("it was inside"));
                        } else {
                            prop_assert!(inside.is_empty());
                        }
                    }
                    _ => {
                        queue.set_in_flight(share, in_flight);
                        if let Some((class, share, ticket, _)) = inside.pop() {
                            queue.remove(class, share, ticket);
                        }
                    }
                }
                prop_assert_eq!(queue.len(), inside.len());
                for share in &shares {
                    let own = inside.iter().filter(|(_, of, ..)| of == share).count();
                    prop_assert_eq!(queue.len_of(*share), own);
                }
            }
            let mut left: Vec<u32> = drain(&mut queue);
            let mut wanted: Vec<u32> = inside.iter().map(|(.., n)| *n).collect();
            left.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(left, wanted);
        }
    }
}
