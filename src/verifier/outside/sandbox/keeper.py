"""The keeper of a room: process 1 of its namespace, which has the interpreter loaded and forks for every run.

It holds no secret: programs, tests and verdicts go through descriptors that come with each request and that it hands to
the process they are for without reading them, so that nothing of one sample is in the memory that the next one inherits.
It has one capability, to mount the work directory anew; what it forks gives that up before it runs anything.
"""

import atexit
import base64
import builtins
import ctypes
import errno
import fcntl
import gc
import importlib
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import types

CONTROL = 0
WORK = "/work"
# What /dev/stdin leads to, where a program names it.
STDIN = WORK + "/.stdin"
# Where a child says why it could not become what it was made for, until it is that.
STATUS = 15
MOST_REQUEST = 1 << 16
MOST_FDS = 8
PRCTL_SECCOMP, PRCTL_NO_NEW_PRIVS, PRCTL_DUMPABLE, FILTER_MODE = 22, 38, 4, 2
CAPABILITY_VERSION = 0x20080522
NOSUID_NODEV, DETACH = 6, 2
# Common imports of programs and of tests, so that they cost nothing.
PRELOADED = """abc argparse array ast bisect calendar cmath collections collections.abc contextlib copy dataclasses datetime
decimal difflib enum fractions functools hashlib heapq inspect io itertools math numbers operator pprint queue re sortedcontainers
statistics string struct textwrap time typing unittest zlib""".split()

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def confine(limits, program, lasts=False):
    """Gives up everything that a tested program is not to have; nothing gets it back. `STATUS` lasts for a command only."""
    os.setsid()
    for name, most in (
        ("RLIMIT_AS", limits["memory"]),
        ("RLIMIT_CPU", limits["cpu"]),
        ("RLIMIT_FSIZE", limits["file"]),
        ("RLIMIT_NOFILE", limits["files"]),
        ("RLIMIT_NPROC", limits["processes"]),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
    ):
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    checked(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    checked(libc.prctl(PRCTL_DUMPABLE, 0, 0, 0, 0), "not dumpable")
    checked(libc.prctl(PRCTL_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    filter_ = Program(len(program) // 8, program)
    checked(libc.prctl(PRCTL_SECCOMP, FILTER_MODE, ctypes.byref(filter_), 0, 0), "seccomp")
    if not lasts:
        os.close(STATUS)


def place(fds, status):
    """Makes `fds` the descriptors 0, 1, 2, ..., `status` the one of that name, and closes all others."""
    away = []
    for fd in [*fds, status]:
        fd = os.open("/dev/null", os.O_RDWR) if fd is None else fd
        # Above all of the places, and below any limit on open files.
        away.append(fcntl.fcntl(fd, fcntl.F_DUPFD, STATUS + 1))
    os.dup2(away.pop(), STATUS, inheritable=False)
    for number, fd in enumerate(away):
        os.dup2(fd, number, inheritable=True)
    os.closerange(len(fds), STATUS)
    os.closerange(STATUS + 1, 4096)


def contents(fd):
    # The place in the file is one for all who have it, and others may have read it before.
    os.lseek(fd, 0, os.SEEK_SET)
    with open(fd, "rb") as file:
        return file.read()


def show_input(text):
    """Lays the input where a program that names it by its path finds it; others read the descriptor."""
    if b"/dev/stdin" in text:
        with open(STDIN, "wb") as file:
            file.write(contents(os.dup(0)))
        os.lseek(0, 0, os.SEEK_SET)


def fork(fds, status, run):
    """A process that has just these descriptors and ends with what `run` returns."""
    child = os.fork()
    if child:
        return child
    code = 113
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        place(fds, status)
        os.chdir(WORK)
        code = run()
    except BaseException as error:
        for fd, text in ((2, traceback.format_exc(limit=-4)), (STATUS, "%s: %s" % (type(error).__name__, error))):
            try:
                os.write(fd, text.encode()[-2000:])
            except OSError:
                pass
    finally:
        os._exit(code)


def run_program(limits, program):
    """Runs the text behind descriptor 3 as `python main.py` would."""
    text = contents(3)
    show_input(text)
    utf8 = {"encoding": "utf-8", "errors": "surrogateescape"}
    sys.stdin = sys.__stdin__ = open(0, "r", **utf8)
    sys.stdout = sys.__stdout__ = open(1, "w", **utf8)
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, **utf8)
    sys.argv = ["main.py"]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    confine(limits, program)
    code = 0
    try:
        exec(compile(text, "main.py", "exec"), main.__dict__)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        code = 1
        sys.stderr.write(traceback.format_exc(limit=-4))
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return code & 0xFF


def run_command(limits, program, argv, save):
    """Saves the text behind descriptor 3 where the operator's command looks for it, and becomes that command."""
    text = contents(3)
    if save:
        with open(save, "wb") as file:
            file.write(text)
    show_input(text)
    confine(limits, program, lasts=True)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": WORK, "TMPDIR": WORK, "LANG": "C.UTF-8"}
    try:
        os.execve(argv[0], argv, environment)
    except OSError as error:
        if argv[0].startswith(WORK) and error.errno not in (errno.ENOENT, errno.EACCES):
            # What was compiled is there, and too large or no program at all.
            os._exit(126)
        raise


def start(request, filters, fds, status):
    """Starts what a request asks for; the process whose end is the end of the run."""
    limits, program = request["limits"], filters[request["filter"]]
    if request["kind"] == "program":
        text, stdin, stdout, stderr = fds
        return fork([stdin, stdout, stderr, text], status, lambda: run_program(limits, program))
    if request["kind"] == "command":
        text, stdin, stdout, stderr = fds
        run = lambda: run_command(limits, program, request["argv"], request["save"])
        return fork([stdin, stdout, stderr, text], status, run)
    text, tests, verdict, stderr = fds
    (solver_in, judge_out), (judge_in, solver_out) = os.pipe(), os.pipe()
    try:
        fork([None, None, stderr, solver_in, solver_out, text], status, lambda: run_solver(limits, program))
        judge = [None, None, None, judge_in, judge_out, tests, verdict]
        return fork(judge, status, lambda: run_judge(limits, program))
    finally:
        for fd in (solver_in, judge_out, judge_in, solver_out):
            os.close(fd)


def wait(child, seconds):
    """Waits for a process and ends it when its time is up; ends with this one's own end when nobody asks any more."""
    end = time.monotonic() + seconds
    handle = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.register(CONTROL, select.POLLIN)
    late = False
    try:
        while True:
            ready = dict(waiting.poll(max(0, (end - time.monotonic()) * 1000)))
            if CONTROL in ready:
                os._exit(0)
            if handle in ready:
                break
            if time.monotonic() >= end:
                late = True
                break
    finally:
        os.close(handle)
    # All of them, at once: this is process 1 of the namespace, and nothing but itself is left.
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    status = 0
    while True:
        try:
            pid, code = os.wait()
        except ChildProcessError:
            break
        if pid == child:
            status = code
    answer = {"exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None}
    answer["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    answer["late"] = late
    return answer


def fresh_work(size, inodes):
    """An empty work directory in memory, in place of the one before it."""
    os.chdir("/")
    libc.umount2(WORK.encode(), DETACH)
    options = "size=%d,nr_inodes=%d,mode=700" % (size, inodes)
    checked(libc.mount(b"tmpfs", WORK.encode(), b"tmpfs", NOSUID_NODEV, options.encode()), "mount")


def copy_from(folder):
    """Copies what a compiler left in a work directory that is not mounted any more into the new one."""
    os.fchdir(folder)
    try:
        shutil.copytree(".", WORK, symlinks=True, dirs_exist_ok=True)
    finally:
        os.chdir("/")


def run(request, filters, fds):
    """Runs what a request asks for; how that ended."""
    heard, status = os.pipe()
    try:
        child = start(request, filters, fds, status)
    finally:
        os.close(status)
    answer = wait(child, request["seconds"])
    failure = os.read(heard, 400).decode(errors="replace")
    os.close(heard)
    return {**answer, "failure": failure or None}


def absent(paths):
    """The first of the programs that cannot be run here."""
    return next((path for path in paths if not os.path.isfile(path) or not os.access(path, os.X_OK)), None)


def keep(settings):
    filters = {name: base64.b64decode(text) for name, text in settings["filters"].items()}
    # Flags that lead into directories of the host, and the working directory, are no place for modules.
    sys.path[:] = settings["path"]
    # What the module `site` makes, which reads folders of the machine.
    builtins.exit = builtins.quit = sys.exit
    for name in PRELOADED + settings["preload"]:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    checked(libc.prctl(PRCTL_DUMPABLE, 0, 0, 0, 0), "not dumpable")
    control = socket.socket(fileno=os.dup(CONTROL))
    fresh_work(1 << 20, 64)
    random.seed(0)
    gc.collect()
    gc.freeze()
    control.send(b'{"ready": true}')
    compiled = None
    while True:
        data, fds, _, _ = socket.recv_fds(control, MOST_REQUEST, MOST_FDS)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if request["kind"] == "look":
            control.send(json.dumps({"absent": absent(request["paths"])}).encode())
            continue
        fresh_work(request["work"], request["inodes"])
        try:
            if compiled is not None:
                copy_from(compiled)
            answer = run(request, filters, fds)
            if request["compiles"]:
                # It outlives the mount, which the next run has another one of.
                compiled = os.open(WORK, os.O_RDONLY | os.O_DIRECTORY)
        finally:
            for fd in fds:
                os.close(fd)
        control.send(json.dumps(answer).encode())
