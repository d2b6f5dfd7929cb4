//! Programs that end with this process, however that ends.
//!
//! Dropping a program ends it, but a process that the kernel ends drops nothing: a server that is killed, or the process of
//! an audit whose client has gone, would leave a program that hangs behind for ever. So the kernel is asked to end the
//! program as well (prctl(2), PR_SET_PDEATHSIG), which only the program's own process can ask for, between its fork and
//! its start. What the kernel watches is the thread that started it; one that lives as long as this process starts them all.
//!
//! It ends the program alone. What a program has started itself learns of it by the end of its pipes.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// A program to start, and who waits for it.
type Order = (Command, Sender<io::Result<Child>>);

/// Starts a program that does not outlive this process.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    /// None where the thread could not be started.
    static STARTER: LazyLock<Option<Mutex<Sender<Order>>>> = LazyLock::new(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        let start = move || {
            for (mut command, waiting) in orders {
                // Whoever asked is still there: nothing is waited for without an end.
                waiting.send(command.spawn()).ok();
            }
        };
        thread::Builder::new().name(String::from("programs")).spawn(start).ok().map(|_| Mutex::new(sender))
    });
    tie(&mut command);
    let gone = || io::Error::other("the thread that starts programs has ended");
    let starter = STARTER.as_ref().ok_or_else(gone)?;
    let (sender, started) = mpsc::channel();
    // Nothing of a sender is half-done.
    let sent = starter.lock().unwrap_or_else(PoisonError::into_inner).send((command, sender));
    sent.map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

/// Has the kernel end the program with the thread that starts it.
fn tie(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that ended before it was asked for sends nothing any more.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only what is safe in a signal handler may be called. This makes two system calls,
    // takes no lock and allocates nothing, for its errors are numbers.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use std::time::Duration;

    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("/bin/sleep");
        command.arg("600").stdin(Stdio::null());
        command
    }

    #[test]
    fn a_program_ends_with_the_thread_that_it_is_tied_to() {
        let child = thread::spawn(|| {
            let mut command = sleeper();
            tie(&mut command);
            command.spawn().unwrap()
        });
        let mut child = child.join().unwrap();
        // Without the tie this would take ten minutes.
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_thread_that_ends_costs_no_program_that_it_asked_for() {
        let mut child = thread::spawn(|| spawn(sleeper()).unwrap()).join().unwrap();
        thread::sleep(Duration::from_millis(200));
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        let absent = spawn(Command::new("/no/such")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }
}
