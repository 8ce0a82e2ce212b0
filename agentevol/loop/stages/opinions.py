"""Opinions that each iteration of a run learns from (`feedback.*`).

    opinions/0001.json  {"opinions": ["5b1c...", "90ff..."]}

An iteration may learn from opinions about the episodes that it and earlier iterations explored, and about
retained ones. Those that stand when it selects its training data are noted in the run's folder, so that a
resumed run learns from the same ones, whatever people say meanwhile.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentevol.config.self_evolution.feedback import FLAG
from agentevol.core.errors import RunStopped
from agentevol.core.files import write_atomically
from agentevol.core.protocols import TrainingSequence
from agentevol.data.feedback.flags import with_flags
from agentevol.data.feedback.opinions import feedback_on, opinions_of
from agentevol.data.feedback.taught import NOTHING, Taught, taught
from agentevol.data.feedback.turns import of_own_turns
from agentevol.data.groups import own_part
from agentevol.data.replay import copied_opinions
from agentevol.data.selection.filters import fresh
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.loop.state.context import RunContext
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory
from agentgym_store.store import Where
from agentgym_store.urls import named


class Opinions:
    """Training data from opinions, by iteration. Safe to repeat: noted opinions are used again."""

    def __init__(self, context: RunContext) -> None:
        self._context, self.config = context, context.config
        self._table = FeedbackTable.beside(context.folder.store.place.name)
        self._known: dict[int, Taught] = {}

    def taught(self, iteration: int) -> Taught:
        """Training data of an iteration from opinions; nothing without `feedback.sources`.

        Raises `RunStopped` where noted opinions are gone.
        """
        if not self.config.feedback.sources:
            return NOTHING
        if iteration not in self._known:
            self._known = {iteration: self._taught(iteration)}
        return self._known[iteration]

    def without(self, iteration: int) -> frozenset[str]:
        """Episodes whose own outcome teaches this iteration nothing. Flagged ones are learnt from where their
        flag is a cost.
        """
        found = self.taught(iteration)
        return found.without - found.flagged if FLAG in self.config.constraints else found.without

    def costed(self, iteration: int, explored: Sequence[Trajectory]) -> Sequence[Trajectory]:
        """The explored episodes of an iteration, with the cost of flags where `constraints.flag` is set."""
        if FLAG not in self.config.constraints:
            return explored
        return with_flags(explored, self.taught(iteration).flagged)

    def labelled_turns(self, iteration: int) -> tuple[list[Trajectory], dict[str, StateValues]]:
        """Episodes whose turns have labels, in the order of their ids and without given turns; and the labels
        by name, for the heads of the run's process reward model.
        """
        said = self.taught(iteration).turn_values
        names = {name for by_episode in said.values() for name in by_episode}
        if not names:
            return [], {}
        stored = self._context.folder.store.trajectories(Where(ids=sorted(names)))
        episodes = sorted(stored, key=lambda t: t.id)
        return [own_part(t) for t in episodes], {
            name: of_own_turns(one, episodes) for name, one in said.items()
        }

    def take_over(self, place: str, episodes: Sequence[Trajectory]) -> None:
        """Copy the opinions about retained episodes, which lie beside the data at `place`, into the run's own
        table; those that are there already are left out.
        """
        data = named(place)
        if not self.config.feedback.sources or (isinstance(data, Path) and not data.is_dir()):
            return
        found = opinions_of(feedback_on(data).records(), self.config.feedback.sources)
        known = {one.id for one in self._table.records()}
        copies = copied_opinions(found, {t.id for t in episodes}, self.config.name)
        self._table.append([one for one in copies if one.id not in known])

    def digest(self, iteration: int) -> str:
        """Hash of the noted opinions of an iteration."""
        names = json.dumps(self._noted(iteration) or [])
        return f"sha256:{hashlib.sha256(names.encode()).hexdigest()}"

    def _taught(self, iteration: int) -> Taught:
        context, config = self._context, self.config
        noted, records = self._noted(iteration), self._table.records()
        standing = opinions_of(records, config.feedback.sources) if noted is None else _named(records, noted)
        episodes = self._episodes(iteration, standing)
        opinions = [one for one in standing if all(name in episodes for name in one.episodes)]
        if noted is None:
            told = json.dumps({"opinions": [one.id for one in opinions]}, indent=1)
            write_atomically(self._file(iteration), told)
        renderer = ChatRenderer(load_tokenizer(context.base.path), config.chat_template_kwargs)
        found = taught(opinions, episodes, config, context.objective, renderer, config.explore_split)
        retained = {name for name, episode in episodes.items() if episode.purpose == "retain"}
        return replace(found, sequences=[_of_own_policy(one, retained) for one in found.sequences])

    def _episodes(self, iteration: int, opinions: Sequence[Feedback]) -> dict[str, Trajectory]:
        """The episodes that opinions are about and that the iteration may see, by id; and evaluated ones of
        held-out splits, so that opinions about them are counted.
        """
        names = {name for one in opinions for name in one.episodes}
        if not names:
            return {}
        stored = self._context.folder.store.trajectories(Where(ids=sorted(names)))
        found = {t.id: t for t in stored if t.iteration <= iteration}
        explored = [t for t in found.values() if t.purpose == "explore"]
        current = {t.id for t in fresh(explored, self.config.select.max_lag, iteration - 1)}
        return {name: t for name, t in found.items() if name in current or self._is_known_otherwise(t)}

    def _is_known_otherwise(self, episode: Trajectory) -> bool:
        own = self.config.by_environment.get(episode.env, self.config)
        held_out = episode.purpose == "evaluate" and episode.split != own.explore_split
        return episode.purpose == "retain" or held_out

    def _noted(self, iteration: int) -> list[str] | None:
        file = self._file(iteration)
        return json.loads(file.read_text("utf-8"))["opinions"] if file.is_file() else None

    def _file(self, iteration: int) -> Path:
        return self._context.folder.path / "opinions" / f"{iteration:04d}.json"


def _named(records: Sequence[Feedback], names: Sequence[str]) -> list[Feedback]:
    """The records with these ids, in the order of the ids."""
    by_id: Mapping[str, Feedback] = {one.id: one for one in records}
    missing = [name for name in names if name not in by_id]
    if missing:
        raise RunStopped(
            f"{len(missing)} opinions that this iteration learns from, such as {missing[0]!r}, are gone from"
            " the table of feedback beside the run's episodes: put it back and resume"
        )
    return [by_id[name] for name in names]


def _of_own_policy(sequence: TrainingSequence, retained: set[str]) -> TrainingSequence:
    """The sequence; of a retained episode without a version, which would be of another run's policy."""
    return replace(sequence, policy_version=None) if sequence.trajectory_id in retained else sequence
