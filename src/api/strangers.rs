//! Connections on which nobody has shown a key yet. They are limited, by address and in all: where there are too many, the
//! oldest goes, so that whoever opens connections and says nothing takes no place of others for long.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Of one address.
const MOST_OF_ADDRESS: usize = 512;

/// The strangers of a server.
#[derive(Debug)]
pub struct Strangers {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: usize,
    next: u64,
    /// Of each address, the oldest first.
    addresses: HashMap<IpAddr, VecDeque<(u64, Arc<Notify>)>>,
}

/// A connection, a stranger's until somebody is [welcome](Self::welcome) on it or it is dropped.
#[derive(Debug)]
pub struct Connection {
    strangers: Arc<Strangers>,
    address: IpAddr,
    number: u64,
    sent_away: Arc<Notify>,
}

impl Strangers {
    /// At most so many in all.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, waiting: Mutex::default() })
    }

    /// A new connection, for which another may have to go.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Connection {
        let mut waiting = self.lock();
        if waiting.addresses.get(&address).is_some_and(|own| own.len() >= MOST_OF_ADDRESS) {
            waiting.send_away(address);
        } else if waiting.count >= self.most {
            let crowd = waiting.addresses.iter().max_by_key(|(_, own)| own.len()).map(|(address, _)| *address);
            crowd.into_iter().for_each(|address| waiting.send_away(address));
        }
        let (number, sent_away) = (waiting.next, Arc::new(Notify::new()));
        waiting.next += 1;
        waiting.count += 1;
        waiting.addresses.entry(address).or_default().push_back((number, Arc::clone(&sent_away)));
        Connection { strangers: Arc::clone(self), address, number, sent_away }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn send_away(&mut self, address: IpAddr) {
        if let Some((number, sent_away)) = self.addresses.get(&address).and_then(VecDeque::front) {
            sent_away.notify_one();
            let number = *number;
            self.remove(address, number);
        }
    }

    fn remove(&mut self, address: IpAddr, number: u64) {
        let Some(own) = self.addresses.get_mut(&address) else { return };
        if let Some(at) = own.iter().position(|(other, _)| *other == number) {
            own.remove(at);
            self.count -= 1;
        }
        if own.is_empty() {
            self.addresses.remove(&address);
        }
    }
}

impl Connection {
    /// Somebody on it may be here: it is no stranger's any more.
    pub fn welcome(&self) {
        self.strangers.lock().remove(self.address, self.number);
    }

    /// Closes the connection.
    pub fn send_away(&self) {
        self.sent_away.notify_one();
    }

    /// Ends when the connection has to go.
    pub async fn sent_away(&self) {
        self.sent_away.notified().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.welcome();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn gone(connection: &Connection) -> bool {
        connection.sent_away().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_stranger_of_a_crowd_goes_and_whoever_is_known_stays() {
        let strangers = Strangers::new(MOST_OF_ADDRESS + 2);
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let crowd: Vec<Connection> = (0..MOST_OF_ADDRESS).map(|_| strangers.enter(address(1))).collect();
        crowd[0].welcome();
        let more = [strangers.enter(address(1)), strangers.enter(address(1))];
        assert!(!gone(&crowd[0]) && gone(&crowd[1]) && !gone(&crowd[2]));
        let others = [strangers.enter(address(2)), strangers.enter(address(3)), strangers.enter(address(4))];
        assert!(gone(&crowd[2]) && !gone(&crowd[3]), "too many in all: the crowd makes room");
        assert!(others.iter().chain(&more).all(|connection| !gone(connection)));
        drop((crowd, more, others));
        let left = strangers.lock();
        assert!(left.count == 0 && left.addresses.is_empty());
    }
}
