//! A connection between machines that can be cut: what goes over it is held up, in both directions, until it is mended.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub struct Cable {
    /// Where its far end is reached.
    pub url: String,
    is_cut: Arc<AtomicBool>,
}

impl Cable {
    /// To the server at this address, such as `http://127.0.0.1:8080`.
    pub fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (url, is_cut) = (format!("http://{}", listener.local_addr().unwrap()), Arc::<AtomicBool>::default());
        let (server, own) = (server.trim_start_matches("http://").to_owned(), Arc::clone(&is_cut));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&server) else { continue };
                let ends = [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))];
                for (from, to) in ends {
                    let is_cut = Arc::clone(&own);
                    // Whoever breaks off is no concern of others.
                    let (Ok(from), Ok(to)) = (from, to) else { break };
                    std::thread::spawn(move || drop(carry(from, to, &is_cut)));
                }
            }
        });
        Self { url, is_cut }
    }

    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
    }

    pub fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut bytes)?;
        while is_cut.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if count == 0 {
            return to.shutdown(Shutdown::Write);
        }
        to.write_all(&bytes[..count])?;
    }
}
