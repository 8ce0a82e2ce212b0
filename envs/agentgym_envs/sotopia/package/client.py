"""Client of the package's engine: `PackageEngine`, and its errors.

PackageError
├── PackageMissing   there is no such interpreter, or it lacks `sotopia` 0.1.5
├── PackageLost      the process has ended, or its reply is garbled
├── PackageTimeout   no reply in time; the process is killed
├── JudgeFailed      the judge gave no complete judgement
├── EndpointFailed   an endpoint failed
└── RequestRefused   the package cannot play the request, or raised
"""

import contextlib
import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.sotopia.package.request import EpisodeRequest, PackageView
from agentgym_envs.sotopia.protocol.profiles import Scene

INTERPRETER: Final = "AGENTEVOL_SOTOPIA_PYTHON"
"""Environment variable with the path of an interpreter that has the package."""
VERSION: Final = "0.1.5"
ENGINE: Final = Path(__file__).with_name("engine.py")
INSTALL: Final = (
    f"docs/sotopia.md: python3.12 -m venv DIR; DIR/bin/pip install sotopia=={VERSION}; "
    f"export {INTERPRETER}=DIR/bin/python"
)
_INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_LAST_LINES = 20
_CLOSING_S = 5.0


class PackageError(RuntimeError):
    """Anything that the package's engine could not do."""


class PackageMissing(PackageError):
    """No interpreter with the package."""


class PackageLost(PackageError):
    """The process has ended, or its reply is garbled."""


class PackageTimeout(PackageError):
    """No reply in time."""


class JudgeFailed(PackageError):
    """No complete judgement."""


class EndpointFailed(PackageError):
    """A model's endpoint failed during an episode."""


class RequestRefused(PackageError):
    """A request that the package cannot play, or an error that it raised."""


_KINDS: Final[Mapping[str, type[PackageError]]] = {
    "missing": PackageMissing,
    "judge": JudgeFailed,
    "endpoint": EndpointFailed,
}


class Versions(Record):
    """Versions in the engine's process."""

    sotopia: str
    litellm: str
    python: str


class Episode(Record):
    """An episode that the package has played."""

    record: dict[str, Any]
    """As `records.record` makes it."""
    seconds: float


class FirstTexts(Record):
    """Texts at the start of an episode."""

    reset_obs: tuple[str, str]
    """By seat."""
    reset_acting: tuple[bool, bool]
    judge: str


class Speed(Record):
    """Steps of the package, and the seconds that they took."""

    steps: int
    seconds: float


class PackageEngine:
    """A process with the package; one request at a time, from one thread.

    `python` is the interpreter, by default that of $AGENTEVOL_SOTOPIA_PYTHON. The process has a temporary
    HOME, none of our environment variables, and ends with `close`, or when our process ends. Raises
    `PackageMissing`. An engine that was lost, or did not reply in time, is closed.
    """

    def __init__(
        self,
        python: str | Path | None = None,
        *,
        timeout_s: float = 120.0,
        start_timeout_s: float = 120.0,
        program: Path = ENGINE,
        api_key: str = "EMPTY",
    ) -> None:
        self._timeout_s = timeout_s
        self._home = tempfile.TemporaryDirectory(prefix="sotopia-")
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=_LAST_LINES)
        try:
            self._process = _start(interpreter(python), program, Path(self._home.name), api_key)
        except PackageMissing:
            self._home.cleanup()
            raise
        self._threads = [
            threading.Thread(target=self._read, daemon=True, name="sotopia-replies"),
            threading.Thread(target=self._listen, daemon=True, name="sotopia-errors"),
        ]
        for thread in self._threads:
            thread.start()
        try:
            self.versions = self._greeted(start_timeout_s)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "PackageEngine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def episode(self, request: EpisodeRequest) -> Episode:
        """Play an episode. Raises a `PackageError`."""
        return Episode.model_validate(self._ask(request.line("episode")))

    def first_texts(self, scene: Scene, view: PackageView) -> FirstTexts:
        """Texts that both seats and the judge read at the start. Raises a `PackageError`."""
        return FirstTexts.model_validate(self._ask(EpisodeRequest(scene=scene, view=view).line("views")))

    def speed(self, request: EpisodeRequest, episodes: int) -> Speed:
        """Play the request's scripts `episodes` times, with neither prompts nor a judge."""
        return Speed.model_validate(self._ask(request.line("speed", episodes=episodes)))

    def close(self) -> None:
        """End the process; may be called again."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(_CLOSING_S)
        for thread in self._threads:
            thread.join(_CLOSING_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not written yet has no reader
                    pipe.close()
        self._home.cleanup()

    def _greeted(self, timeout_s: float) -> Versions:
        """Versions that the process reports first; raises `PackageMissing` for another release."""
        try:
            found = Versions.model_validate(self._reply(timeout_s))
        except PackageLost as error:
            raise PackageMissing(f"the engine does not start: {error}; {INSTALL}") from error
        if found.sotopia != VERSION:
            raise PackageMissing(f"the interpreter has sotopia {found.sotopia}, not {VERSION}; {INSTALL}")
        return found

    def _ask(self, request: Mapping[str, Any]) -> Any:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            raise PackageLost("the engine is closed")
        try:
            pipe.write(json.dumps(request) + "\n")
            pipe.flush()
        except OSError:
            raise self._lost() from None
        return self._reply(self._timeout_s)

    def _reply(self, timeout_s: float) -> Any:
        """The next reply; raises a `PackageError`."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except Empty:
            self.close()
            raise PackageTimeout(f"no reply in {timeout_s:g} s; the engine is closed") from None
        except BaseException:  # an interrupt: the next request must not get this one's reply
            self.close()
            raise
        if line is None:
            raise self._lost()
        try:
            return _unpacked(line)
        except PackageLost:
            self.close()
            raise

    def _lost(self) -> PackageLost:
        """Close the engine; gives the error with what the process has written last."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # its exit code, not that of our signal
            self._process.wait(_CLOSING_S)
        self.close()
        words = " / ".join(self._last_words) or "it has written nothing"
        return PackageLost(f"the engine has ended with exit code {self._process.returncode}: {words}")

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        for line in self._process.stderr or ():
            self._last_words.append(line.rstrip())


def interpreter(python: str | Path | None = None) -> Path:
    """The interpreter that is named, or that of $AGENTEVOL_SOTOPIA_PYTHON; raises `PackageMissing`."""
    named = python or os.environ.get(INTERPRETER)
    if not named:
        raise PackageMissing(f"no interpreter with the package `sotopia` is named; {INSTALL}")
    return Path(named)


def _start(python: Path, program: Path, home: Path, api_key: str) -> "subprocess.Popen[str]":
    ours = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    settings = {
        "HOME": str(home),
        "SOTOPIA_STORAGE_BACKEND": "local",  # otherwise a profile needs a Redis server
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise its import asks the network
        "CUSTOM_API_KEY": api_key,
    }
    try:
        return subprocess.Popen(
            # -I: neither PYTHONPATH nor the folder of the program is searched for modules.
            [str(python), "-I", str(program)],
            env={**ours, **settings},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise PackageMissing(f"{python}: {error.strerror}; {INSTALL}") from error


def _unpacked(line: str) -> Any:
    """The content of a reply; raises what it reports."""
    try:
        reply: dict[Literal["ok", "error"], Any] = json.loads(line)
        if "ok" in reply:
            return reply["ok"]
        kind, message = reply["error"]["kind"], reply["error"]["message"]
    except (ValueError, TypeError, KeyError):
        raise PackageLost(f"the engine's reply is garbled: {line[:200]!r}") from None
    hint = f"; {INSTALL}" if kind == "missing" else ""
    raise _KINDS.get(kind, RequestRefused)(f"{message}{hint}")
