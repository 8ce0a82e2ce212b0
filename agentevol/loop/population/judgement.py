"""Result of a population: the best member's weights or a mean of several, judged on fresh validation tasks.

The tasks by which members were chosen flatter the chosen one (the winner's curse). The result therefore plays
other tasks of the validation split, and the held-out ones, beside the start: iterations 1 and 0 of the
population's own folder.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import Choice, spread
from agentevol.core.summaries import EvaluationSummary
from agentevol.data.manifests import Manifest, of_weights
from agentevol.loop.stages.acceptance import judged_by
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.held_out_tasks import HeldOut, held_out_tasks, summary_of
from agentevol.loop.state.manifest_writer import note_manifest
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask

RESULT = 1
"""Iteration of a population's folder that has the result; 0 is the start."""
SOUPS = "soups"
"""Folder of means of weights that were tried."""


class Judgement:
    """Judgement of one population, in its own folder. Safe to repeat."""

    def __init__(self, context: RunContext) -> None:
        self._context, self._config, self._folder = context, context.config, context.folder

    def result(
        self, ranked: Sequence[Checkpoint], merge: Literal["none", "uniform", "greedy"]
    ) -> tuple[Checkpoint, list[int], list[float]]:
        """Checkpoint of the result, the places of the members in it, and the validations that were tried;
        `ranked` are the members' weights, best first.
        """
        kept, trials = [0], list[float]()
        if merge == "uniform":
            kept = list(range(len(ranked)))
        elif merge == "greedy":
            kept, trials = self._greedy(ranked)
        out = self._folder.checkpoints.accepted(RESULT)
        if not out.path.is_dir() and len(kept) == 1:
            self._folder.checkpoints.repeat(ranked[kept[0]], out)  # with its moments
        elif not out.path.is_dir():
            self._context.cluster.average([ranked[place] for place in kept], out)
        inputs = {f"member {place}": of_weights(ranked[place].path) for place in kept}
        made = Manifest(
            inputs=inputs, output=of_weights(out.path), seed=self._config.seed, policy_version=RESULT
        )
        note_manifest(self._folder.path, RESULT, "train", made)
        return out, kept, trials

    def judge(self, iteration: int, policy: Checkpoint) -> None:
        """Play the fresh validation tasks and the held-out ones with the start (0) or the result (1)."""
        context = self._context
        if context.has_finished(iteration):
            return
        test = self._played(iteration, policy, "test", spread)
        validation = self._played(iteration, policy, "validation", unused)
        context.drafts.note(
            iteration,
            checkpoint=policy.path.name,
            table_version=self._folder.store.version(),
            evaluation=test,
            validation=validation,
            faults=context.faults.take(),
        )
        played = context.episodes.of("evaluate", iteration)
        context.manifests.evaluated(iteration, policy, played)
        summary = context.drafts.take(iteration)
        self._folder.summaries.finish(summary)
        context.progress.finished(summary)

    def _greedy(self, ranked: Sequence[Checkpoint]) -> tuple[list[int], list[float]]:
        """Greedy soup (arXiv:2203.05482, recipe 1): the best, and each further one, in this order, unless
        validation falls.
        """
        kept, trials = [0], [self._validated(0, ranked[0])]
        best = trials[0]
        for place in range(1, len(ranked)):
            soup = Checkpoint(self._folder.path / SOUPS / f"{place:02d}", place)
            if not soup.path.is_dir():
                self._context.cluster.average([ranked[one] for one in (*kept, place)], soup)
            found = self._validated(place, soup)
            trials.append(found)
            if found >= best:
                kept, best = [*kept, place], found
        return kept, trials

    def _validated(self, number: int, policy: Checkpoint) -> float:
        """Success or mean return on the tasks by which members are chosen; all trials have the same seeds."""
        config, episodes = self._config, self._context.episodes
        tasks = held_out_tasks(episodes, config, "validation")
        requests = [
            replace(
                episodes.request("protect", RESULT, task, number),
                seed=episodes.request("protect", RESULT, task, 0).seed,
            )
            for task in tasks
        ]
        with self._context.drafts.timed(RESULT, "merge"):
            found = judged_by(episodes, config, RESULT, policy, requests)
        if config.evaluate.measure == "reward":
            return found.mean_reward or 0.0
        return found.successes / found.n if found.n else 0.0

    def _played(
        self,
        iteration: int,
        policy: Checkpoint,
        held_out: HeldOut,
        choose: Callable[[int | None], Choice],
    ) -> EvaluationSummary:
        context, config = self._context, self._config
        tasks = held_out_tasks(context.episodes, config, held_out, choose)
        requests = [self._request(iteration, task) for task in tasks]
        with context.drafts.timed(iteration, f"evaluate {held_out}"):
            context.episodes.play("evaluate", iteration, policy, requests, config.evaluate_sampling)
        wanted = {request.id for request in requests}
        found = [t for t in context.episodes.of("evaluate", iteration) if t.episode in wanted]
        context.episodes.stop_if_too_many_failed(found)
        return summary_of(config, found, held_out)

    def _request(self, iteration: int, task: EnvTask) -> EpisodeRequest:
        """Request of an evaluation: start and result play with the same seeds."""
        episodes = self._context.episodes
        seed = episodes.request("evaluate", 0, task, 0).seed
        return replace(episodes.request("evaluate", iteration, task, 0), seed=seed)


def clear_trials(folder: RunFolder) -> None:
    """Remove means of weights that were tried."""
    shutil.rmtree(folder.path / SOUPS, ignore_errors=True)


def unused(count: int | None) -> Choice:
    """At most `count` positions, evenly, among those that `spread(count)` does not choose."""

    def choose(total: int) -> list[int]:
        taken = set(spread(count)(total))
        rest = [position for position in range(total) if position not in taken]
        return [rest[place] for place in spread(count)(len(rest))]

    return choose
