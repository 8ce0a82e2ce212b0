"""Folder of a run: configuration, table of trajectories, checkpoints, one summary for each finished
iteration.

    config.toml         the resolved configuration; itself a valid input
    trajectories/       Delta Lake table: every episode, failed ones too; with `table` it lies elsewhere
    checkpoints/0001/   Hugging Face folders
    candidates/0001/    an update that is not accepted yet, where `protect.*` is given
    rejected/0001/      a rejected one; checkpoint 0001 is then the previous one
    learnt/0001/        a whole update, and mixed/0001-0.5/ a share of it, until `interpolate.shares` chose
    probe.jsonl         the training sequences of `probe.data`
    opinions/0001.json  ids of the opinions that iteration 1 learns from, where `feedback.*` is on
    process/0001/       the process reward model of iteration 1, where `process.continuations` is on;
                        0000 is a copy of `process.model`
    process/0001.json   its figures, or those of `reward.*`
    reward/             a copy of `reward.model`, where there is one
    rewards/0001/       the reward model as trained by iteration 1, where `reward.refresh` or
                        `reward.preference_rounds` is on
    judgements/0001.json  verdicts of `reward.judge` on explored episodes, 0001-valid.json on validation ones
    self/0001.json      scores of self-evaluation, with `select.score = "self"`
    self-judge/         a copy of `self.judge`, where that is a model besides those of the run
    iterations/0001.json
    manifests/0001.json inputs and outputs of each stage of iteration 1, as hashes
    sequences/0003.safetensors  encoded training sequences of iteration 3, for later iterations
    prices/0003.json    prices of costs after it: both are caches, derived again where they are missing
    members/00/         run of a member, where `population.*` is given, an ordinary folder; the result is
                        iteration 1 of the population's own one
    population.json     choices among its members
    metrics.jsonl  tensorboard/  mlflow.db  wandb/  as `metrics` chooses
    tracking.json       the last iteration that each of them has
    report.html  success.png
    progress.json       phase, counts and rates of the running run (`agentevol.loop.state.progress_file`)

All entries are complete: files are written under a temporary name and then moved. A resumed run does only the
missing work.
"""

import fcntl
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Self

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.config.files.settings import flattened
from agentevol.config.run import RunConfig, load_earlier
from agentevol.core.errors import ConfigError
from agentevol.core.files import write_atomically
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import RunSummary
from agentevol.loop.state.checkpoints import RunCheckpoints
from agentevol.loop.state.summaries import IterationSummaries
from agentevol.loop.tracking.recorder import Recorder
from agentgym_store.store import Store

_PASSWORD = re.compile(r"//[^/@\s]+@")
_BEGINNINGS = re.compile(r"\.lock|\.config\.toml\.\w+\.partial")
"""Names of the files of a process that was killed before its run had begun."""


class RunFolder:
    """One run on disk. Only one process at a time may hold it."""

    def __init__(self, path: Path, config: RunConfig, lock: IO[str], notes: Sequence[str] = ()) -> None:
        self.path = path.absolute()  # processes on other machines have other working directories
        self.notes = notes
        """Lines about settings of an earlier version that were left out."""
        self.config = config
        self._lock = lock  # released by `close`, or by the kernel when the process ends in any way
        self.store = Store.open(config.table or path / "trajectories", create=True)
        self.checkpoints = RunCheckpoints(self.path, config)
        self.summaries = IterationSummaries(self.path, config)

    @classmethod
    def create(cls, path: Path, config: RunConfig, base: Checkpoint) -> "RunFolder":
        """Begin a run in a new folder, with a copy of the base policy: a run is self-contained.

        Raises `ConfigError` where the folder, or the URL `config.checkpoints`, is not empty, or
        `config.table` exists already.
        """
        if path.exists() and any(not _BEGINNINGS.fullmatch(entry.name) for entry in path.iterdir()):
            raise ConfigError(
                f"{path} is not empty: a run never overwrites a run; resume it or choose another --out"
            )
        if config.table is not None and Store.exists(config.table):
            raise ConfigError(
                f"{config.table} holds a table already: each run has one of its own; name another"
            )
        if config.checkpoints is not None:
            CheckpointStore(config.checkpoints, path.absolute()).check_free()
        path.mkdir(parents=True, exist_ok=True)
        lock = lock_folder(path)
        write_atomically(path / "config.toml", config.to_toml())
        folder = cls(path, config, lock)
        folder.checkpoints.repeat(base, folder.checkpoints.base())
        return folder

    @classmethod
    def resume(cls, path: Path, iterations: int | None = None) -> "RunFolder":
        """Continue a run, up to a number of `iterations` other than its own. Raises `ConfigError` where there
        is none, or where another process holds it.
        """
        config, notes = _config(path)
        if iterations is not None:
            config = config.model_copy(update={"iterations": iterations})
        return cls(path, config, lock_folder(path), notes)

    def close(self) -> None:
        """Release the lock on the folder, so that the run can be resumed; safe to repeat."""
        if not self._lock.closed:
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # a forked process may have inherited the stream
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forget_shares(self) -> None:
        """Remove whole updates and shares of finished iterations."""
        self.checkpoints.forget_shares(self.summaries.finished())

    def clear_partial(self) -> None:
        """Remove partial files of a killed process."""
        self.forget_shares()
        self.checkpoints.clear_partial()
        for leftover in self.path.rglob("*.partial"):
            if leftover.is_file():
                leftover.unlink()


def recorder_of(folder: RunFolder, say: Callable[[str], None]) -> Recorder:
    """Recorder of a run's metrics, which `metrics` chooses, without passwords in URLs of settings."""
    config = folder.config
    settings = {key: _PASSWORD.sub("//", value) for key, value in flattened(config.model_dump(mode="json"))}
    return Recorder(config.metrics, config.name, folder.path, settings, say)


def read_summary(path: Path) -> RunSummary:
    """Summary of a run, which may be running. Raises `ConfigError` where there is none."""
    return IterationSummaries(path, _config(path)[0]).run()


def _config(path: Path) -> tuple[RunConfig, list[str]]:
    if not (path / "config.toml").is_file():
        hint = (
            f"; a model is measured by agentevol eval --model {path} --records FILE, and compare reads FILE"
        )
        is_model = (path / "config.json").is_file()
        raise ConfigError(f"{path} is not a run: it has no config.toml{hint if is_model else ''}")
    return load_earlier(path / "config.toml")


def lock_folder(path: Path) -> IO[str]:
    """Lock of a folder, held until it is closed. Raises `ConfigError` where another process holds it."""
    stream = (path / ".lock").open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as cause:
        stream.close()
        raise ConfigError(f"another process is running {path}") from cause
    return stream
