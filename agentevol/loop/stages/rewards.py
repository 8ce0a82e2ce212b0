"""Rewards besides the environment's: of a function, a judge, a reward model or a process reward model, and
shaping.

Both models are of the run and may be trained in every iteration, before the policy.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeGuard

from agentevol.config.rewards.process import ModelProcess
from agentevol.config.rewards.reward import (
    ConsistencyReward,
    FunctionReward,
    JudgeReward,
    LearntModelReward,
    ModelReward,
    PreferenceModelReward,
    RewardConfig,
    ScoredReward,
)
from agentevol.config.rewards.shaping import potential_discount
from agentevol.config.sections.selection import RETURN
from agentevol.core.algorithms.registry import algorithm
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.core.summaries import IterationSummary
from agentevol.data.final_answers import final_answers, majority_scores, majority_sentence
from agentevol.data.rewards.potentials import with_potential
from agentevol.data.rewards.reward_functions import episode_scores, reward_function, score_figures
from agentevol.data.rewards.reward_model import Judgement, sequences_to_judge
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
from agentevol.data.rewards.turn_rewards import with_turn_rewards
from agentevol.data.selection.filters import scored, select
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.heads.reward_scale import load_scale
from agentevol.loop.stages.judged_rewards import JudgedRewards
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.stages.process_rewards import ProcessRewards, train_reward_model, validation_episodes
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.reward_figures import note_reward_figures
from agentevol.rollout.environments import reward_columns
from agentgym_store.records import Trajectory


class Rewards:
    """Rewards of one run by `process.*`, `reward.*` and `shaping.*`. Safe to repeat: results on disk are
    reused.
    """

    def __init__(self, context: RunContext, opinions: Opinions) -> None:
        self._context, self.config = context, context.config
        self.process, self._judge = ProcessRewards(context, opinions), JudgedRewards(context)
        self._folder, self._cluster, self._episodes = context.folder, context.cluster, context.episodes

    def shape(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        sequences: list[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with rewards of single turns (`agentevol.data.rewards.shaping`), of a
        function (`agentevol.data.rewards.reward_functions`), of a judge (`agentevol.data.judges`) or of a
        reward model (`agentevol.data.rewards.run_reward_model`), then shaped by `shaping.*`; unchanged
        without any.
        """
        if self._folder.checkpoints.accepted(iteration).path.is_dir():  # trained already
            return sequences
        given, model = self._rewarded(iteration, policy, explored, sequences)
        shaping = self.config.shaping
        if shaping.potential is not None:
            given = with_potential(
                given,
                explored,
                shaping.potential,
                discount=potential_discount(self.config.learn),
                has_critic=algorithm(self.config.learn.algorithm).model == "critic",
            )
        if given is not sequences:
            judged = isinstance(self.config.reward, JudgeReward)
            verdicts = self._judge.file(iteration) if judged else None
            self._context.manifests.rewarded(iteration, given, model, verdicts)
        return given

    def _rewarded(
        self,
        iteration: int,
        policy: Checkpoint,
        explored: Sequence[Trajectory],
        sequences: list[TrainingSequence],
    ) -> tuple[list[TrainingSequence], Checkpoint | None]:
        """The training sequences with rewards in place of the environment's, and the model that set them;
        None where a function or a judge did.
        """
        reward, process = self.config.reward, self.config.process
        if self.config.select.score != RETURN:
            return sequences, None  # scores stand for the returns since the selection
        if isinstance(reward, ModelReward | LearntModelReward):
            return self._judged(reward, iteration, explored, sequences), self.model(iteration)
        if isinstance(reward, FunctionReward):
            return self._scored(reward, iteration, explored, sequences), None
        if isinstance(reward, JudgeReward):
            return self._judge.rewarded(reward, iteration, explored, sequences), None
        if isinstance(reward, ConsistencyReward):
            scores = self._majorities(reward, iteration, explored)
            return with_scores(sequences, scores, alpha=reward.alpha, beta=reward.beta), None
        if isinstance(process, ModelProcess):
            model = self._folder.checkpoints.process_model(iteration)
            return self.process.shaped(process, iteration, policy, explored, sequences), model
        if self.config.shaping.reward is not None:
            return with_turn_rewards(sequences, explored, self.config.shaping.reward), None
        return sequences, None

    def scores(self, iteration: int, explored: Sequence[Trajectory]) -> dict[str, float]:
        """Reward of each explored episode by `reward.*`, as its last turn earns it; episodes without a score
        have none.
        """
        reward = self.config.reward
        if not isinstance(reward, ScoredReward):
            return {}
        found = self._raw_scores(reward, iteration, explored)
        return {
            t.id: reward.alpha * (t.total_reward or 0.0) + reward.beta * found[t.id]
            for t in scored(explored)
            if t.id in found
        }

    def model(self, iteration: int) -> Checkpoint | None:
        """Reward model that scores an iteration's episodes; None where another source or none does."""
        reward = self.config.reward
        kept = isinstance(reward, LearntModelReward) and reward.keeps_pairs(iteration)
        if kept or not isinstance(reward, ModelReward | LearntModelReward):
            return None
        return self._folder.checkpoints.reward_model(iteration)

    def verdicts(self, iteration: int) -> Path:
        """File of the judge's verdicts on an iteration's explored episodes."""
        return self._judge.file(iteration)

    def _raw_scores(
        self, reward: ScoredReward, iteration: int, explored: Sequence[Trajectory]
    ) -> Mapping[str, float]:
        if isinstance(reward, JudgeReward):
            return self._judge.scores(reward, iteration, explored, scored(explored))
        if isinstance(reward, ModelReward):
            model = self._folder.checkpoints.reward_model(iteration)
            with self._context.drafts.timed(iteration, "judge"):
                found = self._judgements(reward, model, sequences_to_judge(explored))
            scores = {name: one.score for name, one in found.items()}
        elif isinstance(reward, FunctionReward):
            with self._context.drafts.timed(iteration, "score"):
                scores = self._scores(reward, explored)
        elif isinstance(reward, ConsistencyReward):
            return self._majorities(reward, iteration, explored)
        else:
            raise RuntimeError(f"no scores of {type(reward).__name__}")
        note_reward_figures(self._folder.path, iteration, score_figures(explored, scores))
        return scores

    def _majorities(
        self, reward: ConsistencyReward, iteration: int, explored: Sequence[Trajectory]
    ) -> dict[str, float]:
        """Agreement of each episode's final answer with the majority of its task. Raises `RunStopped` where
        no episode has an answer.
        """
        answers = final_answers(explored)
        if answers and not any(answer is not None for answer in answers.values()):
            raise RunStopped(
                f"reward.consistency compares final answers, and none of {len(answers)} episodes of"
                f" {self.config.environment.name} ended with one"
            )
        scores, figures = majority_scores(explored, answers, least=reward.least, most=reward.most)
        note_reward_figures(self._folder.path, iteration, {**score_figures(explored, scores), **figures})
        self._context.say(iteration, majority_sentence(figures))
        return scores

    def proxy(self, iteration: int) -> float | None:
        """Mean score of the validation episodes; None without scores and for a model that changes."""
        reward = self.config.reward
        if isinstance(reward, FunctionReward):
            scores = self._scores(reward, validation_episodes(self._context, iteration))
            return fmean(scores.values()) if scores else None
        if isinstance(reward, JudgeReward):
            return self._judge.proxy(reward, iteration, validation_episodes(self._context, iteration))
        if not _has_settled(reward, iteration):
            return None
        read = sequences_to_judge(validation_episodes(self._context, iteration))
        found = self._judgements(reward, self._folder.checkpoints.reward_model(iteration), read)
        return fmean(one.score for one in found.values()) if found else None

    def is_exploited(self, iteration: int, evaluated: Sequence[IterationSummary]) -> bool:
        """Return whether scores rose while returns fell in validation, up to this iteration."""
        patience = self.config.reward.exploited_after
        if patience is None or not is_exploited(evaluated, patience):
            return False
        kl = evaluated[-1].learn.get("kl")
        sources = {FunctionReward: "reward function", JudgeReward: "judge"}
        source = sources.get(type(self.config.reward), "reward model")
        self._context.say(
            iteration,
            f"the {source}'s score rose and the return fell {patience} times in a"
            f" sequence, so the run stops; KL {'not known' if kl is None else format(kl, '.3g')}",
        )
        return True

    def _scored(
        self,
        reward: FunctionReward,
        iteration: int,
        explored: Sequence[Trajectory],
        sequences: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the scores of `reward.function`."""
        with self._context.drafts.timed(iteration, "score"):
            scores = self._scores(reward, explored)
        note_reward_figures(self._folder.path, iteration, score_figures(explored, scores))
        return with_scores(sequences, scores, alpha=reward.alpha, beta=reward.beta)

    def _judged(
        self,
        reward: ModelReward | LearntModelReward,
        iteration: int,
        explored: Sequence[Trajectory],
        sequences: Sequence[TrainingSequence],
    ) -> list[TrainingSequence]:
        """The training sequences with the reward model's scores in place of the environment's rewards, or
        beside them.
        """
        model = self.model(iteration)
        if model is None:
            self._context.say(iteration, "the episodes are kept for the reward model, and the policy stays")
            return []
        figures: dict[str, float] = {}
        if isinstance(reward, LearntModelReward) and reward.trains(iteration):
            figures = self._refresh(reward, iteration, self._for_pairs(reward, iteration, explored))
            if self._is_for_preferences(reward, iteration, model):
                note_reward_figures(self._folder.path, iteration, figures)
                return []
        with self._context.drafts.timed(iteration, "judge"):
            found = self._judgements(reward, model, sequences)
        if isinstance(reward, PreferenceModelReward):  # pairs that the model was not trained on
            figures |= agreement_figures(explored, found)
        figures["reward_spread_learnt"] = load_scale(model.path).spread
        note_reward_figures(self._folder.path, iteration, {**judged_figures(sequences, found), **figures})
        return rewarded(sequences, found, alpha=reward.alpha, beta=reward.beta)

    def _is_for_preferences(self, reward: LearntModelReward, iteration: int, model: Checkpoint) -> bool:
        """Whether the episodes of an iteration that trained the reward model teach the policy nothing.

        Raises `RunStopped` where none of `reward.preference_rounds` had a pair to train one on.
        """
        is_learnt = is_reward_model(model.path)
        if not isinstance(reward, PreferenceModelReward):
            if not is_learnt:
                self._context.say(iteration, "no reward model yet, so no episode has a reward")
            return not is_learnt
        if not is_learnt:
            raise RunStopped(
                "the reward model has no pair to learn from, since no task has a better and a worse episode:"
                " set explore.tasks, explore.samples or reward.preference_rounds higher, or name a base"
                " that is right at times"
            )
        self._context.say(iteration, "the reward model learns from these episodes, and the policy stays")
        return True

    def _for_pairs(
        self, reward: LearntModelReward, iteration: int, explored: Sequence[Trajectory]
    ) -> Sequence[Trajectory]:
        """Episodes on whose pairs an iteration trains the reward model."""
        if not isinstance(reward, PreferenceModelReward):
            return explored
        earlier = [one for number in range(1, iteration) for one in self._episodes.explored(number)]
        return [*earlier, *explored]

    def _refresh(
        self, reward: LearntModelReward, iteration: int, explored: Sequence[Trajectory]
    ) -> dict[str, float]:
        """Train the reward model of this iteration; metrics of the previous one, which has not seen these
        pairs, and of the new one.
        """
        models = self._folder.checkpoints
        start, model = models.reward_model(iteration - 1), models.reward_model(iteration)
        sequences = self._preferences(iteration, explored)
        train_reward_model(
            self._context, iteration, "learn rewards", self.config.reward_learn, start, model, sequences
        )
        read = sequences_to_judge(explored)
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
        reward: ModelReward | LearntModelReward,
        model: Checkpoint,
        sequences: Sequence[TrainingSequence],
    ) -> dict[str, Judgement]:
        return judged(model.path, self._cluster.scores(model, sequences), reward.caution)

    def _scores(self, reward: FunctionReward, episodes: Sequence[Trajectory]) -> dict[str, float]:
        columns = reward_columns([one.environment for one in self.config.by_environment.values()])
        function = reward_function(reward.function, reward.options, columns)
        return episode_scores(reward.function, function, episodes)


def _has_settled(reward: RewardConfig, iteration: int) -> TypeGuard[ModelReward | PreferenceModelReward]:
    """Whether a reward model scores episodes that no later iteration trains."""
    if isinstance(reward, PreferenceModelReward):
        return not reward.keeps_pairs(iteration)
    return isinstance(reward, ModelReward)
