"""Checkpoints of a run, in folders by kind and version."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from agentevol.config.rewards.reward import LearntModelReward
from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.models.checkpoints import LINEAGE, Lineage

_SHARES = ("learnt", "mixed")
"""Folders of whole updates and shares of them."""

_FOLDERS = ("checkpoints", "candidates", "rejected", "process", "rewards", *_SHARES)


class RunCheckpoints:
    """Checkpoints in the folder of one run. Names are given to checkpoints that do not exist yet, too."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self._path, self._config = path, config

    def base(self) -> Checkpoint:
        """The run's own copy of the base: checkpoint 0, or one before it where it is cloned."""
        if self._config.demonstrations.clone:
            return Checkpoint(self._path / "base", -1)
        return self.accepted(0)

    def accepted(self, version: int) -> Checkpoint:
        """Path and version of checkpoint number `version`; 0 is a copy of the base, or its clone."""
        return self._of("checkpoints", version)

    def candidate(self, version: int) -> Checkpoint:
        """An update that has to be accepted before it is checkpoint number `version`."""
        return self._of("candidates", version)

    def destination(self, version: int) -> Checkpoint:
        """Folder of an update: with `protect.*` it has to be accepted before it is a checkpoint."""
        checkpoint = self.accepted(version)
        if self._config.protect and not checkpoint.path.is_dir():
            return self.candidate(version)
        return checkpoint

    def rejected(self, version: int) -> Checkpoint:
        """An update that was rejected."""
        return self._of("rejected", version)

    def learnt(self, version: int) -> Checkpoint:
        """A whole update of which a share is to be chosen."""
        return self._of("learnt", version)

    def mixed(self, version: int, share: float) -> Checkpoint:
        """A share of a whole update."""
        return Checkpoint(self._path / "mixed" / f"{version:04d}-{share:g}", version)

    def update(self, version: int) -> Checkpoint:
        """The update of this number, accepted or not."""
        places = (self.rejected(version), self.candidate(version), self.accepted(version))
        return next((place for place in places if place.path.is_dir()), places[-1])

    def process_model(self, version: int) -> Checkpoint:
        """Process reward model of this iteration; number 0 is the run's own copy of `process.model`, or else
        the base, without heads.
        """
        place = self._of("process", version)
        return place if version or self._config.process.initial_model is not None else self.accepted(0)

    def reward_model(self, version: int) -> Checkpoint:
        """Reward model of this iteration: the run's own copy of `reward.model`, or where the run trains one
        the latest by then, where number 0 may be the base, without heads.
        """
        reward = self._config.reward
        number = reward.version(version) if isinstance(reward, LearntModelReward) else 0
        if number:
            return self._of("rewards", number)
        return Checkpoint(self._path / "reward", 0) if reward.initial_model else self.accepted(0)

    def self_judge(self) -> Checkpoint:
        """The run's own copy of `self.judge`, where that is a model besides those of the run."""
        return Checkpoint(self._path / "self-judge", 0)

    def accept(self, version: int) -> Checkpoint:
        """Make the candidate checkpoint number `version`; safe to repeat."""
        checkpoint = self.accepted(version)
        if not checkpoint.path.is_dir():
            self.candidate(version).path.rename(checkpoint.path)
        return checkpoint

    def reject(self, version: int) -> Checkpoint:
        """Make checkpoint number `version` the previous one, and move the candidate aside; safe to repeat."""
        checkpoint, candidate = self.accepted(version), self.candidate(version)
        if not checkpoint.path.is_dir():
            self.repeat(self.accepted(version - 1), checkpoint)
        if candidate.path.is_dir():
            place = self.rejected(version).path
            place.parent.mkdir(exist_ok=True)
            candidate.path.rename(place)
        return checkpoint

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

    def forget_shares(self, finished: Collection[int]) -> None:
        """Remove whole updates and shares of these iterations."""
        for place in _SHARES:
            for folder in (self._path / place).glob("[0-9]*"):
                if int(folder.name[:4]) in finished:
                    shutil.rmtree(folder)

    def clear_partial(self) -> None:
        """Remove partial checkpoints of a killed process."""
        for place in _FOLDERS:
            for leftover in (self._path / place).glob(".*"):
                shutil.rmtree(leftover, ignore_errors=True)

    def _of(self, folder: str, version: int) -> Checkpoint:
        return Checkpoint(self._path / folder / f"{version:04d}", version)
