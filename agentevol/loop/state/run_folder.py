"""Folder of a run: configuration, table of trajectories, checkpoints, one summary for each finished
iteration.

    config.toml         the resolved configuration; itself a valid input
    trajectories/       Delta Lake table: every episode, failed ones too; with `table` it lies elsewhere
    checkpoints/0001/   Hugging Face folders
    candidates/0001/    an update that is not accepted yet, where `protect.*` is given
    rejected/0001/      a rejected one; checkpoint 0001 is then the previous one
    learnt/0001/        a whole update, and mixed/0001-0.5/ a share of it, until `interpolate.shares` chose
    probe.jsonl         the training sequences of `probe.data`
    process/0001/       the process reward model of iteration 1, where `process.continuations` is on;
                        0000 is a copy of `process.model`
    process/0001.json   its figures, or those of `reward.*`
    reward/             a copy of `reward.model`, where there is one
    rewards/0001/       the reward model as trained by iteration 1, where `reward.refresh` is on
    iterations/0001.json
    manifests/0001.json inputs and outputs of each stage of iteration 1, as hashes
    rows/0003.safetensors  encoded training sequences of iteration 3, for later iterations that reuse them;
    prices/0003.json       prices of costs after it: both are caches, derived again where they are missing
    metrics.jsonl  tensorboard/  report.html  success.png

All entries are complete: files are written under a temporary name and then moved. A resumed run does only the
missing work.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Self

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.config.run import RunConfig, load
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.data.manifests import Manifest, Stage
from agentevol.models.checkpoints import LINEAGE, Lineage
from agentevol.report.page import write_report
from agentgym_store.store import Store

_BEGINNINGS = {".lock", "config.toml.partial"}
"""Files of a process that was killed before its run had begun."""


class RunFolder:
    """One run on disk. Only one process at a time may hold it."""

    def __init__(self, path: Path, config: RunConfig, lock: IO[str]) -> None:
        self.path = path.absolute()  # processes on other machines have other working directories
        self.config = config
        self._lock = lock  # released by `close`, or by the kernel when the process ends in any way
        self.store = Store.open(config.table or path / "trajectories", create=True)
        self._summaries: dict[int, IterationSummary] = {}

    @classmethod
    def create(cls, path: Path, config: RunConfig, base: Checkpoint) -> "RunFolder":
        """Begin a run in a new folder, with a copy of the base policy: a run is self-contained.

        Raises `ConfigError` where the folder, or the URL `config.checkpoints`, is not empty, or
        `config.table` exists already.
        """
        if path.exists() and any(entry.name not in _BEGINNINGS for entry in path.iterdir()):
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
        lock = _lock(path)
        write_atomically(path / "config.toml", config.to_toml())
        folder = cls(path, config, lock)
        folder.repeat(base, folder.base())
        return folder

    @classmethod
    def resume(cls, path: Path) -> "RunFolder":
        """Continue a run. Raises `ConfigError` where there is none, or where another process holds it."""
        return cls(path, _config(path), _lock(path))

    def close(self) -> None:
        """Release the lock on the folder, so that the run can be resumed; safe to repeat."""
        if not self._lock.closed:
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # a forked process may have inherited the stream
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def base(self) -> Checkpoint:
        """The run's own copy of the base: checkpoint 0, or one before it where it is cloned."""
        if self.config.demonstrations.clone:
            return Checkpoint(self.path / "base", -1)
        return self.checkpoint(0)

    def checkpoint(self, version: int) -> Checkpoint:
        """Path and version of checkpoint number `version`; 0 is a copy of the base, or its clone."""
        return Checkpoint(self.path / "checkpoints" / f"{version:04d}", version)

    def candidate(self, version: int) -> Checkpoint:
        """An update that has to be accepted before it is checkpoint number `version`."""
        return Checkpoint(self.path / "candidates" / f"{version:04d}", version)

    def destination(self, version: int) -> Checkpoint:
        """Folder of an update: with `protect.*` it has to be accepted before it is a checkpoint."""
        checkpoint = self.checkpoint(version)
        if self.config.protect and not checkpoint.path.is_dir():
            return self.candidate(version)
        return checkpoint

    def rejected(self, version: int) -> Checkpoint:
        """An update that was rejected."""
        return Checkpoint(self.path / "rejected" / f"{version:04d}", version)

    def learnt(self, version: int) -> Checkpoint:
        """A whole update of which a share is to be chosen."""
        return Checkpoint(self.path / "learnt" / f"{version:04d}", version)

    def mixed(self, version: int, share: float) -> Checkpoint:
        """A share of a whole update."""
        return Checkpoint(self.path / "mixed" / f"{version:04d}-{share:g}", version)

    def forget_shares(self) -> None:
        """Remove whole updates and shares of finished iterations."""
        for place in ("learnt", "mixed"):
            for folder in (self.path / place).glob("[0-9]*"):
                if self._summary_file(int(folder.name[:4])).is_file():
                    shutil.rmtree(folder)

    def update(self, version: int) -> Checkpoint:
        """The update of this number, accepted or not."""
        places = (self.rejected(version), self.candidate(version), self.checkpoint(version))
        return next((place for place in places if place.path.is_dir()), places[-1])

    def accept(self, version: int) -> Checkpoint:
        """Make the candidate checkpoint number `version`; safe to repeat."""
        checkpoint = self.checkpoint(version)
        if not checkpoint.path.is_dir():
            self.candidate(version).path.rename(checkpoint.path)
        return checkpoint

    def reject(self, version: int) -> Checkpoint:
        """Make checkpoint number `version` the previous one, and move the candidate aside; safe to repeat."""
        checkpoint, candidate = self.checkpoint(version), self.candidate(version)
        if not checkpoint.path.is_dir():
            self.repeat(self.checkpoint(version - 1), checkpoint)
        if candidate.path.is_dir():
            place = self.rejected(version).path
            place.parent.mkdir(exist_ok=True)
            candidate.path.rename(place)
        return checkpoint

    def process(self, version: int) -> Checkpoint:
        """Process reward model of this iteration; number 0 is the run's own copy of `process.model`, or else
        the base, without heads.
        """
        place = Checkpoint(self.path / "process" / f"{version:04d}", version)
        return place if version or self.config.process.model is not None else self.checkpoint(0)

    def reward_model(self, version: int) -> Checkpoint:
        """Reward model of this iteration: the run's own copy of `reward.model`, or with `reward.refresh` the
        one trained by then, where number 0 may be the base, without heads.
        """
        if self.config.reward.refresh and version:
            return Checkpoint(self.path / "rewards" / f"{version:04d}", version)
        return Checkpoint(self.path / "reward", 0) if self.config.reward.model else self.checkpoint(0)

    def note_process(self, iteration: int, figures: Mapping[str, float]) -> None:
        """Store the figures of a process reward model, or of the scores of `reward.*`."""
        write_atomically(self._process_file(iteration), json.dumps(figures))

    def process_figures(self, iteration: int) -> dict[str, float]:
        """Figures of the process reward model of this iteration; empty where there is none."""
        file = self._process_file(iteration)
        return json.loads(file.read_text()) if file.is_file() else {}

    def repeat(self, earlier: Checkpoint, checkpoint: Checkpoint) -> Checkpoint:
        """Make `checkpoint` a copy of `earlier`, for an iteration without training data."""
        checkpoint.path.parent.mkdir(parents=True, exist_ok=True)
        partial = checkpoint.path.with_name(".copy.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(earlier.path, partial)
        partial.rename(checkpoint.path)
        return checkpoint

    def metrics_of(self, checkpoint: Checkpoint) -> Mapping[str, float | None]:
        """Learner's figures of a checkpoint; empty for a copy of an earlier one."""
        file = checkpoint.path / LINEAGE
        lineage = Lineage.model_validate_json(file.read_text()) if file.is_file() else None
        return lineage.metrics if lineage is not None and lineage.version == checkpoint.version else {}

    def note_manifest(self, iteration: int, stage: Stage, manifest: Manifest) -> None:
        """Store the manifest of a stage, replacing an earlier one."""
        found = {**self.manifests(iteration), stage: manifest}
        told = {name: one.model_dump(mode="json") for name, one in found.items()}
        write_atomically(self._manifest_file(iteration), json.dumps(told, indent=1))

    def manifests(self, iteration: int) -> dict[str, Manifest]:
        """Manifests of the stages of an iteration that have finished."""
        file = self._manifest_file(iteration)
        told = json.loads(file.read_text()) if file.is_file() else {}
        return {name: Manifest.model_validate(one) for name, one in told.items()}

    def conclude(self, summary: RunSummary) -> None:
        """Record the best checkpoint and write the report."""
        leader = best(summary)
        if leader is not None:
            place = str(Path("checkpoints") / leader.checkpoint)
            write_atomically(
                self.path / "best.json", json.dumps({"iteration": leader.iteration, "path": place})
            )
        write_report(self.path, summary)

    def clear_partial(self) -> None:
        """Remove partial files of a killed process."""
        self.forget_shares()
        for place in ("checkpoints", "candidates", "process", "rewards", "learnt", "mixed"):
            for leftover in (self.path / place).glob(".*"):
                shutil.rmtree(leftover, ignore_errors=True)
        for leftover in self.path.rglob("*.partial"):
            if leftover.is_file():
                leftover.unlink()

    def summary(self, iteration: int) -> IterationSummary | None:
        """Summary of a finished iteration, None if it has not finished; each file is read once."""
        if iteration not in self._summaries:
            file = self._summary_file(iteration)
            if not file.is_file():
                return None
            self._summaries[iteration] = IterationSummary.model_validate_json(file.read_text())
        return self._summaries[iteration]

    def earlier(self, iteration: int) -> list[IterationSummary]:
        """Summaries of the finished iterations before this one."""
        found = [self.summary(number) for number in range(iteration)]
        return [summary for summary in found if summary is not None]

    def finish(self, summary: IterationSummary) -> None:
        """Mark an iteration as finished."""
        write_atomically(self._summary_file(summary.iteration), summary.model_dump_json(indent=1))
        self._summaries.pop(summary.iteration, None)  # the next reader gets the content of the file

    def run_summary(self) -> RunSummary:
        """Summary of all finished iterations."""
        return _run_summary(self.config, map(self.summary, _finished(self.path)))

    def _process_file(self, iteration: int) -> Path:
        return self.path / "process" / f"{iteration:04d}.json"

    def _manifest_file(self, iteration: int) -> Path:
        return self.path / "manifests" / f"{iteration:04d}.json"

    def _summary_file(self, iteration: int) -> Path:
        return _summary_file(self.path, iteration)


def read_summary(path: Path) -> RunSummary:
    """Summary of a run, which may be running. Raises `ConfigError` where there is none."""
    texts = (_summary_file(path, number).read_text() for number in _finished(path))
    return _run_summary(_config(path), map(IterationSummary.model_validate_json, texts))


def write_atomically(file: Path, text: str) -> None:
    """Write a file atomically; a full disk raises a `RunStopped` that says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except OSError as cause:
        partial.unlink(missing_ok=True)
        raise RunStopped(f"cannot write {file}: {cause.strerror}") from cause


def append_metrics(folder: Path, values: Mapping[str, object]) -> None:
    """Add one line to `metrics.jsonl`; a line cut short by a full disk is dropped by readers."""
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(values) + "\n")


def _config(path: Path) -> RunConfig:
    if not (path / "config.toml").is_file():
        raise ConfigError(f"{path} is not a run: it has no config.toml")
    return load(path / "config.toml")


def _finished(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in (path / "iterations").glob("[0-9]*.json"))


def _summary_file(path: Path, iteration: int) -> Path:
    return path / "iterations" / f"{iteration:04d}.json"


def _run_summary(config: RunConfig, iterations: Iterable[IterationSummary | None]) -> RunSummary:
    return RunSummary(
        run=config.name,
        environment=config.environment.name,
        config=config.model_dump(mode="json"),
        iterations=tuple(one for one in iterations if one is not None),
    )


def _lock(path: Path) -> IO[str]:
    stream = (path / ".lock").open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as cause:
        stream.close()
        raise ConfigError(f"another process is running {path}") from cause
    return stream
