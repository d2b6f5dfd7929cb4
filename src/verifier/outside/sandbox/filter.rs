//! What system calls a tested program may make, as programs of classic BPF that its process gives itself before it runs
//! (seccomp(2)).
//!
//! A Python program gets a list of what it may do: no new processes, no sockets, no signals, no other programs. A program
//! of a language that the operator lists is one that the operator chose, so that it gets a list of what it may not do.
//! What is refused fails with `ENOSYS`, after which programs fall back to what there is.

const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const NOT_THERE: u32 = 0x0005_0000 | libc::ENOSYS as u32;

/// Offsets in what a filter is given: the number of the call, the architecture, and the lower halves of the first two
/// arguments.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xc000_00b7;

/// Numbers of the x32 interface begin here, under which every call exists once more.
const X32: u32 = 0x4000_0000;
const NEW_NAMESPACES: u32 = 0x7e02_0000;

/// What Python programs may do, files of their work directory, memory and threads.
#[rustfmt::skip]
const PYTHON: &[libc::c_long] = &[
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_pwrite64,
    libc::SYS_close, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek, libc::SYS_openat,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_ftruncate,
    libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir,
    libc::SYS_fchdir, libc::SYS_mkdirat, libc::SYS_unlinkat, libc::SYS_renameat2, libc::SYS_symlinkat, libc::SYS_linkat,
    libc::SYS_readlinkat, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_umask, libc::SYS_pselect6, libc::SYS_ppoll,
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_brk,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall, libc::SYS_setitimer, libc::SYS_getitimer, libc::SYS_nanosleep, libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_times, libc::SYS_getrusage,
    libc::SYS_getrlimit, libc::SYS_sysinfo, libc::SYS_uname, libc::SYS_getrandom, libc::SYS_getpid, libc::SYS_getppid,
    libc::SYS_gettid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getgroups,
    libc::SYS_getpgid, libc::SYS_getsid, libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_getcpu,
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_set_tid_address,
    libc::SYS_membarrier, libc::SYS_exit, libc::SYS_exit_group,
];

/// What they may do to descriptors by `fcntl`: no signals to the owner that they name, and no seals or sizes.
const PYTHON_FCNTL: &[libc::c_int] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
];

/// The same under the names that only older architectures have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const PYTHON_OLD: &[libc::c_long] = &[
    libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_dup2, libc::SYS_pipe, libc::SYS_mkdir,
    libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_rename, libc::SYS_renameat, libc::SYS_symlink, libc::SYS_link,
    libc::SYS_readlink, libc::SYS_chmod, libc::SYS_select, libc::SYS_poll, libc::SYS_getpgrp, libc::SYS_time,
    libc::SYS_alarm,
];
#[cfg(target_arch = "aarch64")]
const PYTHON_OLD: &[libc::c_long] = &[];

/// What programs of other languages may not do: reach the network, other processes, namespaces, mounts, keys, memory that
/// no limit counts, and what only administrators need.
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept,
    libc::SYS_accept4, libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev,
    libc::SYS_process_madvise, libc::SYS_pidfd_open, libc::SYS_pidfd_getfd, libc::SYS_pidfd_send_signal, libc::SYS_kcmp,
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_clone3, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root,
    libc::SYS_chroot, libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr, libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init, libc::SYS_inotify_init1, libc::SYS_quotactl, libc::SYS_acct, libc::SYS_swapon,
    libc::SYS_swapoff, libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_adjtimex,
    libc::SYS_clock_adjtime, libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_syslog, libc::SYS_vhangup,
    libc::SYS_personality, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget,
    libc::SYS_semop, libc::SYS_semctl, libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_mq_open,
    libc::SYS_mq_unlink, libc::SYS_mbind, libc::SYS_migrate_pages, libc::SYS_move_pages,
];

/// A filter under construction: instructions of eight bytes, as the kernel reads them.
struct Filter(Vec<u8>);

impl Filter {
    /// Ends a process of another architecture, whose numbers are others, and knows none of x32.
    fn new() -> Self {
        let mut filter = Self(Vec::new());
        filter.put(LOAD_WORD, 0, 0, ARCHITECTURE);
        filter.put(JUMP_EQUAL, 1, 0, THIS_ARCHITECTURE);
        filter.end(KILL_PROCESS);
        filter.put(LOAD_WORD, 0, 0, NUMBER);
        filter.put(JUMP_AT_LEAST, 0, 1, X32);
        filter.end(NOT_THERE);
        filter
    }

    fn put(&mut self, code: u16, when_true: u8, when_false: u8, operand: u32) {
        self.0.extend(code.to_ne_bytes());
        self.0.extend([when_true, when_false]);
        self.0.extend(operand.to_ne_bytes());
    }

    fn end(&mut self, answer: u32) {
        self.put(RETURN, 0, 0, answer);
    }

    fn answer(&mut self, calls: &[libc::c_long], answer: u32) {
        for call in calls {
            self.put(JUMP_EQUAL, 0, 1, *call as u32);
            self.end(answer);
        }
    }

    /// Allows `call` where its first argument meets a test, and not otherwise.
    fn allow_where(&mut self, call: libc::c_long, (code, when_true, when_false): (u16, u8, u8), operand: u32) {
        self.put(JUMP_EQUAL, 0, 4, call as u32);
        self.put(LOAD_WORD, 0, 0, FIRST_ARGUMENT);
        self.put(code, when_true, when_false, operand);
        self.end(ALLOW);
        self.end(NOT_THERE);
    }

    /// Allows `call` where its second argument is one of a few, and not otherwise.
    fn allow_second(&mut self, call: libc::c_long, among: &[libc::c_int]) {
        let skipped = u8::try_from(2 + 2 * among.len()).expect("a jump passes over a short list");
        self.put(JUMP_EQUAL, 0, skipped, call as u32);
        self.put(LOAD_WORD, 0, 0, SECOND_ARGUMENT);
        for argument in among {
            self.put(JUMP_EQUAL, 0, 1, *argument as u32);
            self.end(ALLOW);
        }
        self.end(NOT_THERE);
    }

    fn allow_threads(&mut self) {
        self.allow_where(libc::SYS_clone, (JUMP_ANY_BIT, 0, 1), libc::CLONE_THREAD as u32);
    }

    /// Limits of the process itself only: others of the same user could be starved with it.
    fn allow_own_limits(&mut self) {
        self.allow_where(libc::SYS_prlimit64, (JUMP_EQUAL, 0, 1), 0);
    }
}

/// The filter of Python programs, and of their tests.
pub fn python() -> Vec<u8> {
    let mut filter = Filter::new();
    filter.answer(PYTHON, ALLOW);
    filter.answer(PYTHON_OLD, ALLOW);
    filter.allow_second(libc::SYS_fcntl, PYTHON_FCNTL);
    filter.allow_threads();
    filter.allow_own_limits();
    filter.end(NOT_THERE);
    filter.0
}

/// The filter of programs of other languages, and of their compilers; the former do not fork unless the operator says so.
pub fn command(forks: bool) -> Vec<u8> {
    let mut filter = Filter::new();
    filter.answer(REFUSED, NOT_THERE);
    if forks {
        filter.allow_where(libc::SYS_clone, (JUMP_ANY_BIT, 1, 0), NEW_NAMESPACES);
    } else {
        #[cfg(target_arch = "x86_64")]
        filter.answer(&[libc::SYS_fork, libc::SYS_vfork], NOT_THERE);
        filter.allow_threads();
    }
    filter.allow_own_limits();
    filter.end(ALLOW);
    filter.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a filter answers to a call whose first two arguments are one number.
    fn answer(filter: &[u8], architecture: u32, number: u32, argument: u32) -> u32 {
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let bytes = &filter[at * 8..at * 8 + 8];
            let code = u16::from_ne_bytes([bytes[0], bytes[1]]);
            let operand = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            let holds = match code {
                LOAD_WORD => {
                    accumulator = match operand {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        FIRST_ARGUMENT | SECOND_ARGUMENT => argument,
                        other => panic!("offset {other}"),
                    };
                    at += 1;
                    continue;
                }
                RETURN => return operand,
                JUMP_EQUAL => accumulator == operand,
                JUMP_AT_LEAST => accumulator >= operand,
                JUMP_ANY_BIT => accumulator & operand != 0,
                other => panic!("instruction {other}"),
            };
            at += 1 + usize::from(bytes[if holds { 2 } else { 3 }]);
        }
    }

    fn here(filter: &[u8], call: libc::c_long, argument: i32) -> u32 {
        answer(filter, THIS_ARCHITECTURE, call as u32, argument as u32)
    }

    #[test]
    fn python_programs_read_and_start_threads_and_do_nothing_that_is_not_listed() {
        let filter = python();
        assert_eq!(here(&filter, libc::SYS_read, 0), ALLOW);
        assert_eq!(here(&filter, libc::SYS_clone, libc::CLONE_THREAD | libc::CLONE_VM), ALLOW);
        for flags in [0, libc::SIGCHLD, libc::CLONE_NEWUSER, libc::CLONE_VM | libc::CLONE_VFORK] {
            assert_eq!(here(&filter, libc::SYS_clone, flags), NOT_THERE);
        }
        for call in [libc::SYS_execve, libc::SYS_kill, libc::SYS_socket, libc::SYS_ptrace, libc::SYS_clone3, 4095] {
            assert_eq!(here(&filter, call, 0), NOT_THERE);
        }
        for allowed in [libc::F_DUPFD, libc::F_SETFL, libc::F_DUPFD_CLOEXEC, libc::F_SETLK] {
            assert_eq!(here(&filter, libc::SYS_fcntl, allowed), ALLOW);
        }
        const F_SETSIG: i32 = 10;
        const F_SETOWN_EX: i32 = 15;
        for refused in [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX, libc::F_NOTIFY, libc::F_SETLEASE, libc::F_ADD_SEALS] {
            assert_eq!(here(&filter, libc::SYS_fcntl, refused), NOT_THERE);
        }
        assert_eq!((here(&filter, libc::SYS_prlimit64, 0), here(&filter, libc::SYS_prlimit64, 1)), (ALLOW, NOT_THERE));
    }

    #[test]
    fn other_languages_fork_only_where_the_operator_says_so_and_never_into_a_namespace() {
        let (single, many) = (command(false), command(true));
        for filter in [&single, &many] {
            assert_eq!(here(filter, libc::SYS_execve, 0), ALLOW);
            assert_eq!(here(filter, libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD), NOT_THERE);
            assert!(REFUSED.iter().all(|call| here(filter, *call, 0) == NOT_THERE));
        }
        assert_eq!(
            (here(&single, libc::SYS_clone, libc::SIGCHLD), here(&many, libc::SYS_clone, libc::SIGCHLD)),
            (NOT_THERE, ALLOW)
        );
    }

    #[test]
    fn other_interfaces_to_the_kernel_are_shut() {
        for filter in [python(), command(true)] {
            assert_eq!(answer(&filter, 0x4000_0003, libc::SYS_read as u32, 0), KILL_PROCESS);
            assert_eq!(answer(&filter, THIS_ARCHITECTURE, X32 | libc::SYS_read as u32, 0), NOT_THERE);
        }
    }
}
