"""Rewards besides the environment's: of a function, a reward model or a process reward model, and shaping.

Both models are of the run and may be trained in every iteration, before the policy.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from agentevol.config.learner import LearnConfig
from agentevol.config.rewards.process import ContinuationProcess, ModelProcess, TrainedProcess
from agentevol.config.rewards.reward import FunctionReward, ModelReward, TrainedModelReward
from agentevol.config.rewards.shaping import potential_discount
from agentevol.core.algorithms.registry import algorithm
from agentevol.core.errors import RunStopped
from agentevol.core.files import write_atomically
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.core.summaries import IterationSummary
from agentevol.data.rewards.potentials import with_potential
from agentevol.data.rewards.process_rewards import (
    agreements,
    counted_by_head,
    pooled_by_head,
    process_rewards,
    watched,
)
from agentevol.data.rewards.reward_functions import episode_scores, reward_function, score_figures
from agentevol.data.rewards.reward_model import Judgement, rows_to_judge
from agentevol.data.rewards.run_reward_model import (
    agreement_figures,
    compared,
    is_exploited,
    is_reward_model,
    judged,
    judged_figures,
    rewarded,
    with_scores,
)
from agentevol.data.rewards.shaping import episodes_of, length_correlation, shaped
from agentevol.data.rewards.state_values import Counted, chosen_states, is_mismatch
from agentevol.data.rewards.turn_rewards import with_turn_rewards
from agentevol.data.selection.filters import select
from agentevol.data.training_sequences import valued
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.heads.reward_scale import load_scale
from agentevol.loop.state.context import RunContext
from agentevol.rollout.continuations import continuations
from agentgym_store.records import Trajectory


class LearnedRewards:
    """Rewards of one run by `process.*`, `reward.*` and `shaping.*`. Safe to repeat: results on disk are
    reused.
    """

    def __init__(self, context: RunContext) -> None:
        self._context, self.config = context, context.config
        self._folder, self._cluster, self._episodes = context.folder, context.cluster, context.episodes

    def shape(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        rows: list[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with rewards of single turns (`agentevol.data.rewards.shaping`), of a
        function (`agentevol.data.rewards.reward_functions`) or of a reward model
        (`agentevol.data.rewards.run_reward_model`), then shaped by `shaping.*`; unchanged without any.
        """
        if self._folder.checkpoints.accepted(iteration).path.is_dir():  # trained already
            return rows
        given, model = self._rewarded(iteration, policy, explored, rows)
        shaping = self.config.shaping
        if shaping.potential is not None:
            given = with_potential(
                given,
                explored,
                shaping.potential,
                discount=potential_discount(self.config.learn),
                has_critic=algorithm(self.config.learn.algorithm).model == "critic",
            )
        if given is not rows:
            self._context.manifests.rewarded(iteration, given, model)
        return given

    def _rewarded(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        rows: list[TrainingSequence],
    ) -> tuple[list[TrainingSequence], Checkpoint | None]:
        """The training sequences with rewards in place of the environment's, and the model that set them;
        None where a function did.
        """
        reward, process = self.config.reward, self.config.process
        if isinstance(reward, ModelReward | TrainedModelReward):
            model = self._folder.checkpoints.reward_model(iteration)
            return self._judged(reward, iteration, explored, rows), model
        if isinstance(reward, FunctionReward):
            return self._scored(reward, iteration, explored, rows), None
        if isinstance(process, ModelProcess):
            model = self._folder.checkpoints.process_model(iteration)
            return self._shaped(process, iteration, policy, explored, rows), model
        if self.config.shaping.reward is not None:
            return with_turn_rewards(rows, explored, self.config.shaping.reward), None
        return rows, None

    def proxy(self, iteration: int) -> float | None:
        """Mean score of the validation episodes; None without scores and for a model that changes."""
        reward = self.config.reward
        if isinstance(reward, FunctionReward):
            scores = _scores(reward, self._validated(iteration))
            return fmean(scores.values()) if scores else None
        if isinstance(reward, ModelReward):
            read = rows_to_judge(self._validated(iteration))
            found = self._judgements(reward, self._folder.checkpoints.reward_model(iteration), read)
            return fmean(one.score for one in found.values()) if found else None
        return None

    def is_exploited(self, iteration: int, evaluated: Sequence[IterationSummary]) -> bool:
        """Return whether scores rose while returns fell in validation, up to this iteration."""
        patience = self.config.reward.exploited_after
        if patience is None or not is_exploited(evaluated, patience):
            return False
        kl = evaluated[-1].learn.get("kl")
        source = "reward function" if isinstance(self.config.reward, FunctionReward) else "reward model"
        self._context.say(
            iteration,
            f"the {source}'s score rose and the return fell {patience} times in a"
            f" row, so the run stops; KL {'not known' if kl is None else format(kl, '.3g')}",
        )
        return True

    def _scored(
        self,
        reward: FunctionReward,
        iteration: int,
        explored: Sequence[Trajectory],
        rows: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the scores of `reward.function`."""
        with self._context.drafts.timed(iteration, "score"):
            scores = _scores(reward, explored)
        _note_figures(self._folder.path, iteration, score_figures(explored, scores))
        return with_scores(rows, scores, alpha=reward.alpha, beta=reward.beta)

    def _judged(
        self,
        reward: ModelReward | TrainedModelReward,
        iteration: int,
        explored: Sequence[Trajectory],
        rows: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the reward model's scores in place of the environment's rewards, or
        beside them.
        """
        model = self._folder.checkpoints.reward_model(iteration)
        figures: dict[str, float] = {}
        if isinstance(reward, TrainedModelReward):
            figures = self._refresh(reward, iteration, explored)
            if not is_reward_model(model.path):
                self._context.say(iteration, "no reward model yet, so no episode has a reward")
                return []
        with self._context.drafts.timed(iteration, "judge"):
            found = self._judgements(reward, model, rows)
        figures["reward_spread_learnt"] = load_scale(model.path).spread
        _note_figures(self._folder.path, iteration, {**judged_figures(rows, found), **figures})
        return rewarded(rows, found, alpha=reward.alpha, beta=reward.beta)

    def _refresh(
        self, reward: TrainedModelReward, iteration: int, explored: Sequence[Trajectory]
    ) -> dict[str, float]:
        """Train the reward model of this iteration; metrics of the previous one, which has not seen these
        pairs, and of the new one.
        """
        models = self._folder.checkpoints
        start, model = models.reward_model(iteration - 1), models.reward_model(iteration)
        rows = self._preferences(iteration, explored)
        self._learn(iteration, "learn rewards", self.config.reward_learn, start, model, rows)
        read = rows_to_judge(explored)
        named = (("_before", start), ("", model))
        return {
            f"{name}{suffix}": value
            for suffix, one in named
            if is_reward_model(one.path)
            for name, value in agreement_figures(explored, self._judgements(reward, one, read)).items()
        }

    def _preferences(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        seed = self._context.seed(iteration)
        try:
            return compared(select(explored, self.config.select, seed), self.config, seed)
        except NothingToLearn as reason:
            self._context.say(iteration, str(reason))
            return []

    def _judgements(
        self,
        reward: ModelReward | TrainedModelReward,
        model: Checkpoint,
        rows: Sequence[TrainingSequence],
    ) -> dict[str, Judgement]:
        return judged(model.path, self._cluster.scores(model, rows), reward.caution)

    def _shaped(
        self,
        process: ModelProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        rows: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        trained = isinstance(process, TrainedProcess)
        figures = self._refresh_values(process, iteration, policy, explored) if trained else {}
        values = self._cluster.values(self._process_model(iteration), rows)
        steps = process_rewards(
            explored, episodes_of(rows), values, process.model_heads, process.rules, discount=process.discount
        )
        figures["process_length_correlation"] = length_correlation(steps)
        _note_figures(self._folder.path, iteration, {k: v for k, v in figures.items() if math.isfinite(v)})
        return shaped(rows, steps, alpha=process.alpha, beta=process.beta)

    def watched(self, iteration: int) -> dict[str, float]:
        """Scores of the process reward model on the validation episodes, compared with their outcomes."""
        model = self._process_model(iteration)
        base = self._folder.checkpoints.accepted(0)  # as a model, it says 0.5 for everything
        if not self.config.process.on or model == base:
            return {}
        values = self._cluster.values(model, rows_to_judge(self._validated(iteration)))
        return watched(self._validated(iteration), values, self.config.process.model_heads)

    def _validated(self, iteration: int) -> list[Trajectory]:
        split = self.config.validate_split
        return [t for t in self._episodes.of("evaluate", iteration) if t.split == split]

    def _process_model(self, iteration: int) -> Checkpoint:
        """Process reward model of an iteration: one that is not trained is the same in all."""
        return self._folder.checkpoints.process_model(
            iteration if isinstance(self.config.process, TrainedProcess) else 0
        )

    def _refresh_values(
        self,
        process: TrainedProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
    ) -> dict[str, float]:
        """Train the process reward model on the current policy; returns its fit to the estimated values."""
        counted = self._count_values(process, iteration, policy, explored)
        values_of = (one.values for one in counted.values())
        labelled = valued(explored, *values_of, kind=self.config.select.rows)
        models = self._folder.checkpoints
        start, model = models.process_model(iteration - 1), models.process_model(iteration)
        names = list(process.model_heads)
        self._learn(iteration, "learn values", self.config.process_learn, start, model, labelled, names)
        # the model of the iteration before has not seen these labels
        held_out = agreements(self._cluster.values(start, labelled), counted)
        return {
            **next(iter(counted.values())).figures,
            **agreements(self._cluster.values(model, labelled), counted),
            **{f"{name}_before": value for name, value in held_out.items()},
        }

    def _count_values(
        self,
        process: TrainedProcess,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
    ) -> dict[str, Counted]:
        """Estimated values by head: of some states of the explored episodes, by rollouts from them, or of
        states that several of the episodes passed through.
        """
        heads = list(process.model_heads)
        if not isinstance(process, ContinuationProcess):
            return pooled_by_head(explored, heads)
        share, most = process.share, process.states
        states = chosen_states(explored, share=share, per_episode=most, seed=self.config.seed)
        requests = [
            request
            for state in states
            for request in continuations(
                state, process.continuations, self.config.seed, self.config.environment.max_turns
            )
        ]
        with self._context.drafts.timed(iteration, "value"):
            self._episodes.play("value", iteration, policy, requests, self.config.explore_sampling)
        played = self._episodes.of("value", iteration)
        self._episodes.stop_if_too_many_failed([t for t in played if not is_mismatch(t)])
        counted = counted_by_head(states, explored, played, process.continuations, heads)
        if states and all(one.mismatched == len(states) for one in counted.values()):
            raise RunStopped(
                f"no state of {self.config.environment.name} was reached again by the same seed and actions:"
                " process.continuations needs an environment that can be replayed; process.pooled does not"
            )
        return counted

    def _learn(
        self,
        iteration: int,
        what: str,
        how: LearnConfig,
        start: Checkpoint,
        model: Checkpoint,
        rows: Sequence[TrainingSequence],
        heads: Sequence[str] = (),
    ) -> None:
        """Train the reward model of this iteration; without training data it is the previous one."""
        if model.path.is_dir():
            return
        job = LearnerJob(
            start,
            rows,
            model.path,
            seed=self._context.seed(iteration),
            version=iteration,
            table_version=self._folder.store.version(),
            objectives=heads,
        )
        with (
            self._context.drafts.timed(iteration, what),
            self._context.progress.learning(iteration, what) as step,
        ):
            try:
                self._cluster.learn(job, step, how)
            except NothingToLearn as reason:
                self._context.say(iteration, f"cannot {what}, {reason}")
                self._folder.checkpoints.repeat(start, model)


def _scores(reward: FunctionReward, episodes: Sequence[Trajectory]) -> dict[str, float]:
    return episode_scores(reward.function, reward_function(reward.function, reward.options), episodes)


def reward_figures(run_folder: Path, iteration: int) -> dict[str, float]:
    """Figures of the rewards of this iteration's process reward model or reward model; empty without one."""
    file = _figures_file(run_folder, iteration)
    return json.loads(file.read_text()) if file.is_file() else {}


def _note_figures(run_folder: Path, iteration: int, figures: Mapping[str, float]) -> None:
    write_atomically(_figures_file(run_folder, iteration), json.dumps(figures))


def _figures_file(run_folder: Path, iteration: int) -> Path:
    return run_folder / "process" / f"{iteration:04d}.json"
