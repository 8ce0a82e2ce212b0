"""Writer of a run's manifests as its iterations proceed (`agentevol.data.manifests`)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentevol.core.files import write_atomically
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.core.splits import iteration_seed
from agentevol.data.composition import versions
from agentevol.data.hashes import of_sequences
from agentevol.data.manifests import (
    Manifest,
    Stage,
    of_episodes,
    of_file,
    of_names,
    of_numbers,
    of_parts,
    of_scores,
    of_weights,
)
from agentevol.data.pair_sources import NO_SOURCES, PairSources
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.records import Trajectory


class ManifestWriter:
    """Manifests of one run. Every entry is a function of the run's table and files, so that a stage repeated
    after a kill writes the same entry; a later stage reads the results of an earlier one from the file.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._seed = folder, folder.config.seed
        self._weights: dict[tuple[tuple[int, int, int], ...], str] = {}

    def seated(
        self, iteration: int, version: int, players: Mapping[str, str], counts: Mapping[str, float]
    ) -> None:
        """Note the partner and seat of each task in a league, and the weights of the checkpoints among
        them.
        """
        names = {name.partition(" ")[0] for name in players.values()}
        inputs = {
            name: self._hash(self._folder.checkpoints.accepted(int(name)))
            for name in sorted(names)
            if name.isdecimal()
        }
        manifest = Manifest(
            inputs=inputs,
            output=of_names(players),
            seed=self._seed,
            policy_version=version,
            counts=counts,
        )
        note_manifest(self._folder.path, iteration, "league", manifest)

    def explored(self, iteration: int, policy: Checkpoint, episodes: Sequence[Trajectory]) -> None:
        """Note the samples of an iteration and their returns. Where other policies than `policy` sampled some
        of them, all are noted, with the version of the newest.
        """
        found = {version for turns in versions(episodes).values() for version in turns if version is not None}
        inputs, newest = {"policy": self._hash(policy)}, policy.version
        if found - {policy.version}:
            known = {
                version: self._hash(self._folder.checkpoints.accepted(version)) for version in sorted(found)
            }
            inputs = {f"policy {version}": weights for version, weights in known.items()}
            newest = max(found)
        played = of_episodes(episodes)
        self._note(iteration, "explore", inputs, played, self._seed, newest)
        self._note(iteration, "score", {"explore": played}, of_scores(episodes), self._seed, newest)

    def judged(
        self,
        iteration: int,
        scores: Mapping[str, float] | None,
        model: Checkpoint | None,
        verdicts: Path | None,
    ) -> None:
        """Note the scores by which episodes are selected, None where they are not used, and the weights or
        the verdicts that gave them.
        """
        inputs = {
            **self._made(iteration, "explore"),
            **({} if model is None else {"model": self._hash(model)}),
        }
        if verdicts is not None and verdicts.is_file():
            inputs["verdicts"] = of_file(verdicts)
        self._note(iteration, "judge", inputs, of_numbers(scores), self._drawn(iteration), iteration - 1)

    def filtered(self, iteration: int, digest: str, sources: PairSources = NO_SOURCES) -> None:
        """Note the selected training sequences with weights, by their hash, and the `sources` of pairs."""
        beside = {"demonstrations": sources.demonstrations, "lost before": sources.lost}
        named = {name: of_episodes(episodes) for name, episodes in beside.items() if episodes}
        inputs = {**self._made(iteration, "explore", "score", "judge"), **named}
        self._note(iteration, "filter", inputs, digest, self._drawn(iteration), iteration - 1)

    def advised(self, iteration: int, opinions: str, digest: str, counts: Mapping[str, float]) -> None:
        """Note the training sequences of feedback by their hash, with that of the `opinions`, and counts of
        what became what.
        """
        manifest = Manifest(
            inputs={"opinions": opinions},
            output=digest,
            seed=self._drawn(iteration),
            policy_version=iteration - 1,
            counts=counts,
        )
        note_manifest(self._folder.path, iteration, "feedback", manifest)

    def merged(self, iteration: int, own: str, added: Sequence[str]) -> None:
        """Note the additional training data, by the hash of each part: no part is hashed again."""
        inputs = {**self._made(iteration, "filter"), "added": of_parts(added)}
        made = of_parts([own, *added])
        self._note(iteration, "merge", inputs, made, self._drawn(iteration), iteration - 1)

    def rewarded(
        self,
        iteration: int,
        sequences: Sequence[TrainingSequence],
        model: Checkpoint | None,
        verdicts: Path | None = None,
    ) -> None:
        """Note the rewards of a reward model or a process reward model, of a judge by the file of its
        `verdicts`, or of functions alone.
        """
        inputs = {**self._made(iteration, "merge"), **({} if model is None else {"model": self._hash(model)})}
        if verdicts is not None and verdicts.is_file():
            inputs["verdicts"] = of_file(verdicts)
        self._note(
            iteration, "reward", inputs, of_sequences(sequences), self._drawn(iteration), iteration - 1
        )

    def trained(self, iteration: int, start: Checkpoint, update: Checkpoint) -> None:
        """Note the update, accepted or not."""
        sequences = self._made(iteration, "reward") or self._made(iteration, "merge")
        inputs = {**sequences, "start": self._hash(start)}
        self._note(iteration, "train", inputs, self._hash(update), self._drawn(iteration), start.version)

    def evaluated(self, iteration: int, policy: Checkpoint, episodes: Sequence[Trajectory]) -> None:
        """Note the evaluations of this iteration's policy."""
        inputs = {"policy": self._hash(policy)}
        self._note(iteration, "evaluate", inputs, of_episodes(episodes), self._seed, policy.version)

    def _made(self, iteration: int, *stages: Stage) -> dict[str, str]:
        found = read_manifests(self._folder.path, iteration)
        return {stage: found[stage].output for stage in stages if stage in found}

    def _drawn(self, iteration: int) -> int:
        return iteration_seed(self._seed, iteration)

    def _hash(self, checkpoint: Checkpoint) -> str:
        """Hash of a checkpoint's weights; an unchanged file is read once, even if it is moved."""
        found = [file.stat() for file in _weight_files(checkpoint.path)]
        key = tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)
        if key not in self._weights:
            self._weights[key] = of_weights(checkpoint.path)
        return self._weights[key]

    def _note(
        self, iteration: int, stage: Stage, inputs: dict[str, str], output: str, seed: int, version: int
    ) -> None:
        manifest = Manifest(inputs=inputs, output=output, seed=seed, policy_version=version)
        note_manifest(self._folder.path, iteration, stage, manifest)


def note_manifest(run_folder: Path, iteration: int, stage: Stage, manifest: Manifest) -> None:
    """Store the manifest of a stage, replacing an earlier one."""
    found = {**read_manifests(run_folder, iteration), stage: manifest}
    told = {name: one.model_dump(mode="json", exclude_defaults=True) for name, one in found.items()}
    write_atomically(_file(run_folder, iteration), json.dumps(told, indent=1))


def read_manifests(run_folder: Path, iteration: int) -> dict[str, Manifest]:
    """Manifests of the stages of an iteration that have finished."""
    file = _file(run_folder, iteration)
    told = json.loads(file.read_text()) if file.is_file() else {}
    return {name: Manifest.model_validate(one) for name, one in told.items()}


def _file(run_folder: Path, iteration: int) -> Path:
    return run_folder / "manifests" / f"{iteration:04d}.json"


def _weight_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))
