"""Recorder of a run's metrics, which gives each iteration to all sinks.

Every sink works in a thread of its own: one that raises, hangs or has no disk left costs the run nothing.
What a sink has not recorded is given again with the next iteration, at the end, and when the run is resumed.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from agentevol.config.sections.metrics import SINKS
from agentevol.core.errors import ConfigError, RunStopped, one_line
from agentevol.core.files import write_atomically
from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.sinks import MetricSink, TrackedRun

STATE = "tracking.json"
"""File in the run's folder: the run's id, and the last iteration that each sink has recorded."""
CLOSE_S = 15.0
"""Seconds that the end of a run waits for all sinks together."""
PACKAGES = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow", "trackio": "trackio"}
"""Package that a sink needs; extras have the same names."""


def check_sinks(names: Iterable[str]) -> None:
    """Raise `ConfigError` for a sink that is unknown or whose package is not installed."""
    from importlib.util import find_spec

    for name in names:
        SINKS.checked(name)
        package = PACKAGES.get(name)
        if package is not None and find_spec(package) is None:
            raise ConfigError(
                f"metrics: {name!r} needs the package {package}: pip install 'agentevol[{name}]'"
            )
        if package is None:
            SINKS.load(name)


class Recorder:
    """Recorder of one run. `say` gets a line for each new failure of a sink. Thread-safe."""

    def __init__(
        self,
        names: Sequence[str],
        name: str,
        folder: Path,
        config: Mapping[str, str],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._file, self._say, self._lock = folder / STATE, say, threading.Lock()
        identity, self._recorded = _read(self._file)
        self._run = TrackedRun(name, folder, identity, config)
        self._channels = [_Channel(one, self._opener(one), self._note, say) for one in names]

    def resume(self, finished: Iterable[IterationSummary]) -> None:
        """Give finished iterations to the sinks that have not recorded them."""
        for summary in finished:
            for channel in self._channels:
                if summary.iteration > self._recorded.get(channel.name, -1):
                    channel.put(summary)

    def log(self, summary: IterationSummary) -> None:
        """Give an iteration to all sinks; returns at once."""
        for channel in self._channels:
            channel.put(summary)

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Wait until all sinks have recorded everything and closed, `timeout_s` at most; safe to repeat."""
        until = time.monotonic() + timeout_s
        for channel in self._channels:
            channel.end()
        late = [one.name for one in self._channels if not one.wait(max(0.0, until - time.monotonic()))]
        if late:
            self._say(f"metrics: {', '.join(late)} did not finish within {timeout_s:g} s and is left behind")

    def _opener(self, name: str) -> Callable[[], MetricSink]:
        return lambda: SINKS.load(name)(self._run)

    def _note(self, name: str, iteration: int) -> None:
        """Note that a sink has recorded an iteration."""
        with self._lock:
            self._recorded[name] = max(iteration, self._recorded.get(name, -1))
            told = json.dumps({"id": self._run.id, "recorded": self._recorded}, indent=1)
            with suppress(RunStopped, OSError):  # no disk: it is recorded again when the run is resumed
                write_atomically(self._file, told)


class _Channel:
    """Queue of one sink, and the thread that empties it."""

    def __init__(
        self,
        name: str,
        opener: Callable[[], MetricSink],
        note: Callable[[str, int], None],
        say: Callable[[str], None],
    ) -> None:
        self.name = name
        self._opener, self._note, self._say = opener, note, say
        self._sink: MetricSink | None = None
        self._waiting: deque[IterationSummary] = deque()
        self._news, self._ending, self._over = threading.Event(), False, threading.Event()
        self._thread: threading.Thread | None = None
        self._told = ""

    def put(self, summary: IterationSummary) -> None:
        """Queue an iteration."""
        self._waiting.append(summary)
        self._news.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"metrics-{self.name}", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Have the thread end once it has tried everything."""
        self._ending = True
        self._news.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end; return whether it came."""
        return self._thread is None or self._over.wait(timeout_s)

    def _work(self) -> None:
        try:
            while not self._ending:
                self._news.wait()
                self._news.clear()
                self._try(self._empty)
            self._try(self._empty)  # what failed before, and what came with the end
            if self._sink is not None:
                self._try(self._sink.close)
        finally:
            self._over.set()

    def _empty(self) -> None:
        """Give all waiting iterations to the sink, in their order."""
        if self._waiting and self._sink is None:
            self._sink = self._opener()
        while self._waiting and self._sink is not None:
            self._sink.log(self._waiting[0])
            self._note(self.name, self._waiting.popleft().iteration)

    def _try(self, do: Callable[[], None]) -> None:
        try:
            do()
        except BaseException as cause:  # noqa: BLE001 - of another library, which may even exit
            reason = one_line(cause) if isinstance(cause, Exception) else repr(cause)
            if reason != self._told:
                self._told = reason
                self._say(f"metrics: {self.name} failed, the run continues: {reason}")


def _read(file: Path) -> tuple[str, dict[str, int]]:
    """Id of the run, and the last iteration that each sink has recorded; a new id without a readable file."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        return str(told["id"]), {str(name): int(number) for name, number in told["recorded"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return uuid4().hex, {}
