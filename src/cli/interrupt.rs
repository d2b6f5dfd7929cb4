//! Ctrl-C while a command waits for something that goes on without it: says how to come back to it.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, Once, PoisonError};

use tokio::signal::unix::{SignalKind, signal};

use super::exit;

static MESSAGE: Mutex<String> = Mutex::new(String::new());
static HANDLER: Once = Once::new();

/// From here on an interruption ends the program with this message.
pub fn on_interrupt(message: String) {
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = message;
    HANDLER.call_once(|| {
        let (ready, listening) = channel();
        std::thread::spawn(move || listen(&ready));
        if listening.recv().is_err() {
            // The signal then ends the program by itself, only with fewer words.
            tracing::debug!("there is no handler for interruptions");
        }
    });
}

fn listen(ready: &Sender<()>) -> Option<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    runtime.block_on(async {
        let mut interrupts = signal(SignalKind::interrupt()).ok()?;
        ready.send(()).ok()?;
        interrupts.recv().await
    })?;
    eprintln!("\n{}", MESSAGE.lock().unwrap_or_else(PoisonError::into_inner));
    std::process::exit(exit::INTERRUPTED)
}
