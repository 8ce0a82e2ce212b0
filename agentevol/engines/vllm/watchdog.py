"""Watchdog: ends processes that must not outlive this one, even if this one is killed."""

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_EVERY_S = 0.2
_WATCH = """
import os, signal, sys
for pid in map(int, sys.stdin.read().split()):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
"""
"""Program that reads until the other end of its input is closed, as the kernel does for a killed process
too.
"""


class Watchdog:
    """A small process that kills others when this one has ended; `dismiss` it once they have.

    Watched processes have to be spawned: a fork would hold open the pipe whose closing signals our end.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt of the terminal must not end the watchdog
            text=True,
        )

    def watch(self, pid: int) -> None:
        """Kill this process, too."""
        if self._process.stdin is not None:
            self._process.stdin.write(f"{pid}\n")
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """End the watchdog without killing anything. May be called twice."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def descendants(pid: int) -> Iterator[int]:
    """Descendants of a process on Linux; none on other platforms."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = file.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in map(int, found):
            yield child
            yield from descendants(child)


@contextmanager
def watching_children(watchdog: Watchdog) -> Generator[None]:
    """Watch processes that multiprocessing starts within the block, from soon after their start on, and their
    descendants.
    """
    others, watched = set(multiprocessing.active_children()), set[int]()
    done = threading.Event()

    def look() -> None:
        while True:
            last = done.wait(LOOK_EVERY_S)
            for process in set(multiprocessing.active_children()) - others:
                pids = {process.pid, *descendants(process.pid)} if process.pid is not None else set[int]()
                for pid in pids - watched:
                    watchdog.watch(pid)
                watched.update(pids)
            if last:
                return

    looking = threading.Thread(target=look, name="watchdog", daemon=True)
    looking.start()
    try:
        yield
    finally:
        done.set()
        looking.join()
