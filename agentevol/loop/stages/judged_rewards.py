"""Rewards of episodes by a judge (`reward.judge`): verdicts are kept in the run's folder.

An episode that the judge failed on is counted as `failed(judge)`, and is not trained on.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from re import sub
from statistics import fmean

from agentevol.config.rewards.reward import JudgeReward
from agentevol.core.errors import RunStopped
from agentevol.core.judges import Judge
from agentevol.core.protocols import TrainingSequence
from agentevol.data.judges.judging import Judged, judge_of, judged, normalised
from agentevol.data.judges.records import (
    JudgeIdentity,
    JudgementsFile,
    judgements_file,
    read_judgements,
    write_judgements,
)
from agentevol.data.rewards.reward_functions import score_figures
from agentevol.data.rewards.run_reward_model import with_scores
from agentevol.data.selection.filters import scored
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.reward_figures import note_reward_figures
from agentevol.rollout.metrics import endings
from agentgym_store.records import Failed, Trajectory


class JudgedRewards:
    """Scores of one run's episodes by its judge. Safe to repeat: episodes with a verdict are not judged
    again.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def rewarded(
        self,
        reward: JudgeReward,
        iteration: int,
        explored: Sequence[Trajectory],
        sequences: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the judge's scores; those of an episode that it failed on are left
        out.

        Raises `RunStopped` where no episode could be judged.
        """
        trained = {sequence.trajectory_id for sequence in sequences}
        asked = [episode for episode in scored(explored) if episode.id in trained]
        scores = self.scores(reward, iteration, explored, asked)
        return with_scores(sequences, scores, alpha=reward.alpha, beta=reward.beta)

    def scores(
        self,
        reward: JudgeReward,
        iteration: int,
        explored: Sequence[Trajectory],
        asked: Sequence[Trajectory],
    ) -> dict[str, float]:
        """Score of each of the episodes `asked`, without those that the judge failed on, which are counted
        among the `explored` ones.

        Raises `RunStopped` where no episode could be judged.
        """
        if not asked:
            return {}
        judge, found = self._judged(reward, iteration, self._name(iteration), asked)
        if not found.verdicts:
            first = next(iter(found.failures.values()))
            raise RunStopped(f"no episode of iteration {iteration} has a verdict of {reward.judge}: {first}")
        self._count(reward, iteration, explored, found.failures)
        scores = normalised(judge, found.verdicts)
        figures = {"reward_unjudged": float(len(found.failures)), **_dimensions(found)}
        note_reward_figures(self._context.folder.path, iteration, {**score_figures(asked, scores), **figures})
        return scores

    def proxy(self, reward: JudgeReward, iteration: int, validation: Sequence[Trajectory]) -> float | None:
        """Mean score of the validation episodes; None where none has a verdict, or without `patience`."""
        asked = scored(validation)
        if reward.patience is None or not asked:
            return None
        judge, found = self._judged(reward, iteration, f"{self._name(iteration)}-valid", asked)
        if found.failures:
            self._say(reward, iteration, "validation", len(asked), found.failures)
        scores = normalised(judge, found.verdicts)
        return fmean(scores.values()) if scores else None

    def file(self, iteration: int) -> Path:
        """File of the verdicts on an iteration's explored episodes."""
        return judgements_file(self._context.folder.path, self._name(iteration))

    def _judged(
        self, reward: JudgeReward, iteration: int, name: str, asked: Sequence[Trajectory]
    ) -> tuple[Judge, Judged]:
        """Verdicts on the episodes, from the file of this name or asked for now; without any verdict no file
        is written, so that a resumed run asks again.
        """
        judge, folder = judge_of(reward.judge, reward.options), self._context.folder.path
        identity = JudgeIdentity(name=reward.judge, version=judge.version, options=reward.options)
        known = read_judgements(folder, name, identity)
        if known is not None:
            return judge, known.judged()
        with self._context.drafts.timed(iteration, "judge"):
            found = asyncio.run(
                judged(judge, asked, concurrency=reward.concurrency, timeout_s=reward.timeout_s)
            )
        if found.verdicts:
            write_judgements(folder, name, JudgementsFile.of(identity, judge.scale, found))
        return judge, found

    def _count(
        self,
        reward: JudgeReward,
        iteration: int,
        explored: Sequence[Trajectory],
        failures: Mapping[str, str],
    ) -> None:
        """Count the episodes that the judge failed on in the iteration's summary."""
        if not failures:
            return
        told = [
            episode.model_copy(update={"ending": Failed(failure="judge", detail=failures[episode.id])})
            if episode.id in failures
            else episode
            for episode in explored
        ]
        self._context.drafts.note(iteration, explored=endings(told))
        self._say(reward, iteration, "explored", len(explored), failures)

    def _say(
        self, reward: JudgeReward, iteration: int, kind: str, count: int, failures: Mapping[str, str]
    ) -> None:
        first = next(iter(failures.values()))
        self._context.say(
            iteration,
            f"{len(failures)} of {count} {kind} episodes have no verdict of {reward.judge}; first: {first}",
        )

    def _name(self, iteration: int) -> str:
        return f"{iteration:04d}"


def _dimensions(found: Judged) -> dict[str, float]:
    """Mean score of each dimension, over the episodes that have one."""
    values: dict[str, list[float]] = {}
    for verdict in found.verdicts.values():
        for name, value in verdict.dimensions.items():
            values.setdefault(sub(r"\W+", "_", name), []).append(float(value))
    return {f"judge_{name}": fmean(given) for name, given in sorted(values.items())}
