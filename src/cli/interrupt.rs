//! Ctrl-C while a command waits for something that goes on without it: says how to come back to it.

use std::sync::{Mutex, Once, PoisonError};

use super::exit;

static MESSAGE: Mutex<String> = Mutex::new(String::new());
static HANDLER: Once = Once::new();

/// From here on an interruption ends the program with this message.
pub fn on_interrupt(message: String) {
    *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = message;
    HANDLER.call_once(|| {
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            // Without a handler the signal ends the program by itself, only with fewer words.
            let Ok(runtime) = runtime else { return };
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                let message = MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
                eprintln!("\n{message}");
                std::process::exit(exit::INTERRUPTED);
            }
        });
    });
}
