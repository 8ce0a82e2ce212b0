"""Java virtual machine of ScienceWorld: one for each process, with a simulator for each session.

Two threads in one machine would corrupt each other's games, so that calls take turns. The machine ends with
its process, and some time after its last simulator was given back.
"""

import atexit
import os
import resource
import shutil
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, TypeVar

from agentgym_envs.core import TaskUnplayable
from agentgym_envs.registry import EnvironmentUnavailable

HEAP_MB: Final = 1024
"""Most heap of the shared machine; a simulator takes about 12 MB of it."""
SMALL_HEAP_MB: Final = 256
"""Most heap of a machine with one simulator."""
MOST_SIMULATORS: Final = 64
IDLE_S: Final = 60.0
"""Seconds without a simulator in use after which the shared machine ends."""

ValueT = TypeVar("ValueT")


class MachineLostError(RuntimeError):
    """The machine of a game has ended; the next game begins in a new one."""


class Jvm:
    """A machine that starts with its first simulator."""

    def __init__(self, heap_mb: int = HEAP_MB, most: int = MOST_SIMULATORS) -> None:
        self._heap_mb, self._most = heap_mb, most
        self._lock = threading.RLock()
        self._gateway: Any = None
        self._free: list[Any] = []
        self._used = 0
        self._timer: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """Process of the machine, while it runs."""
        return self._gateway.java_process.pid if self._gateway else None

    def simulator(self) -> "Simulator":
        """A simulator of one's own, until it is given back.

        Raises `EnvironmentUnavailable` where Java is missing, and `TaskUnplayable` where too many are in use.
        """
        with self._lock:
            if self._used >= self._most:
                raise TaskUnplayable(
                    f"{self._most} games of sciworld are played in this process, and no more fit in its"
                    " machine's memory: serve it with more --workers, or play fewer at a time"
                )
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._gateway is None or self._gateway.java_process.poll() is not None:
                self._gateway, self._free = _started(self._heap_mb), []
            made = self._free.pop() if self._free else self._new()
            self._used += 1
            return Simulator(self, self._gateway, made)

    def give_back(self, gateway: Any, interface: Any) -> None:
        """Take a simulator back."""
        with self._lock:
            self._used -= 1
            if gateway is self._gateway:
                self._free.append(interface)
            if not self._used:
                self._timer = threading.Timer(IDLE_S, self._close_if_idle)
                self._timer.daemon = True
                self._timer.start()

    def call(self, gateway: Any, function: Callable[[], ValueT]) -> ValueT:
        """Result of a call, made when no other one runs. Raises `MachineLostError`."""
        with self._lock:
            try:
                return function()
            except _error() as cause:
                if not _has_ended(gateway.java_process):
                    raise
                if gateway is self._gateway:
                    self.close()
                raise MachineLostError(f"the Java machine of sciworld has ended: {cause}") from None

    def close(self) -> None:
        """End the machine."""
        with self._lock:
            gateway, self._gateway, self._free = self._gateway, None, []
        if gateway is not None:
            _ended(gateway)

    def _close_if_idle(self) -> None:
        with self._lock:
            if not self._used:
                self.close()

    def _new(self) -> Any:
        return self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()


class Simulator:
    """Simulator of a machine; its methods are those of the package's Java class `PythonInterface`."""

    def __init__(self, jvm: Jvm, gateway: Any, interface: Any) -> None:
        self._jvm, self._gateway, self._interface = jvm, gateway, interface
        self._is_open = True

    def load(self, name: str, variation: int, simplification: str, *, with_gold: bool = False) -> None:
        """Begin a game."""
        self._jvm.call(
            self._gateway, lambda: self._interface.load(name, variation, simplification, with_gold)
        )

    def text(self, method: str, *given: str) -> str:
        """Text that a method returns."""
        return str(self._jvm.call(self._gateway, lambda: getattr(self._interface, method)(*given)))

    def texts(self, method: str) -> list[str]:
        """List of texts that a method returns."""

        def read() -> list[str]:
            found = getattr(self._interface, method)()
            try:
                return [str(found[place]) for place in range(len(found))]  # an iterator would stay
            finally:
                self._gateway.detach(found)

        return self._jvm.call(self._gateway, read)

    def score(self) -> int:
        """Score from 0 to 100, or -100 after a forbidden action."""
        return self._jvm.call(self._gateway, lambda: round(100 * float(self._interface.getScore())))

    def moves(self) -> int:
        """Moves so far; waiting is ten of them."""
        return self._jvm.call(self._gateway, lambda: int(self._interface.getNumMoves()))

    def is_complete(self) -> bool:
        """Whether the simulator has ended the game."""
        return self._jvm.call(self._gateway, lambda: bool(self._interface.getCompleted()))

    def close(self) -> None:
        """Give the simulator back; may be called twice."""
        if self._is_open:
            self._is_open = False
            self._jvm.give_back(self._gateway, self._interface)


def check_java() -> None:
    """Raise `EnvironmentUnavailable` where there is no Java."""
    if _java() is None:
        raise EnvironmentUnavailable(
            "environment 'sciworld' needs Java, and there is no `java` on the PATH, and no JAVA_HOME:"
            " install a runtime of Java 8 or later, for example `apt-get install default-jre-headless`"
        )


def shared() -> Jvm:
    """The machine of this process."""
    return _MACHINES.setdefault(os.getpid(), Jvm())


_MACHINES: Final[dict[int, Jvm]] = {}
"""By process. A forked one keeps its parent's: to forget it would speak over the parent's connection."""


@atexit.register
def _close_shared() -> None:
    for pid, machine in _MACHINES.items():
        if pid == os.getpid():
            machine.close()


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("java", path=f"{home}/bin") if home else None) or shutil.which("java")


def _started(heap_mb: int) -> Any:
    """Gateway to a new machine. Raises `EnvironmentUnavailable`."""
    check_java()
    py4j: Any = import_module("py4j.java_gateway")
    package: Any = import_module("scienceworld.constants")
    options = [f"-Xmx{heap_mb}m", "-XX:+UseSerialGC"]
    with _own_limits():
        port, process = py4j.launch_gateway(
            classpath=package.JAR_PATH,
            cwd=package.BASEPATH,
            javaopts=options,
            java_path=_java(),
            die_on_exit=True,
            return_proc=True,
        )
    # Without py4j's memory management, which calls the machine at a garbage collection, in any thread and
    # without the lock, even when it has ended. `Simulator.texts` lets go of what the machine holds.
    parameters = py4j.GatewayParameters(auto_field=True, port=port, enable_memory_management=False)
    return py4j.JavaGateway(gateway_parameters=parameters, java_process=process)


@contextmanager
def _own_limits() -> Generator[None, None, None]:
    """Start without the bound of this process on memory: the machine has one of its own, its heap."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _error() -> type[Exception]:
    """Error of py4j: of a lost connection, or of the simulator."""
    protocol: Any = import_module("py4j.protocol")
    return protocol.Py4JError


def _has_ended(process: "subprocess.Popen[Any]") -> bool:
    """Whether a process ends within a second."""
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _ended(gateway: Any) -> None:
    process = gateway.java_process
    gateway.shutdown(raise_exception=False)
    try:
        process.stdin.close()  # it dies with its standard input
        process.wait(timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
