"""Checks of `select.score`, the score by which explored episodes are selected and learnt from."""

from agentevol.config.rewards.process import ProcessSection
from agentevol.config.rewards.reward import JudgeReward, LearntModelReward, RewardSection
from agentevol.config.sections.exploration import ExploreConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.selection import RETURN, SelectConfig
from agentevol.config.self_evolution.feedback import OPINION, FeedbackConfig
from agentevol.config.self_evolution.self_evaluation import SelfConfig
from agentevol.core.algorithms.registry import objective


def check_opinions(select: SelectConfig, feedback: FeedbackConfig) -> None:
    """Raise `ValueError` where opinions are to score episodes, and nobody's are learnt from."""
    if select.score == OPINION and not feedback.sources:
        raise ValueError("select.score = 'feedback' needs feedback.sources: whose opinions are the scores")


def check_score(
    select: SelectConfig, own: SelfConfig, reward: RewardSection, process: ProcessSection
) -> None:
    """Raise `ValueError` where `select.score` names a score that nothing gives, or `self.*` has no effect."""
    score = select.score
    if score != "self" and own != SelfConfig():
        raise ValueError("self.* has no effect without select.score = 'self'")
    if score == RETURN:
        return
    if score == "reward" and (not reward.on or isinstance(reward, JudgeReward)):
        raise ValueError(
            "select.score = 'reward' needs a source: reward.function, reward.model or reward.consistency"
        )
    if score == "reward" and isinstance(reward, LearntModelReward):
        raise ValueError(
            "a reward model of the run trains on pairs of selected episodes, which are not selected by its"
            " scores: set reward.model alone"
        )
    if score == "judge" and not isinstance(reward, JudgeReward):
        raise ValueError("select.score = 'judge' needs reward.judge")
    if score in ("self", OPINION) and reward.on:
        raise ValueError(f"select.score = {score!r} and reward.* both score episodes: leave out one of them")
    if process.on:
        raise ValueError(f"process.* counts the environment's returns, not select.score = {score!r}")


def check_scored_data(select: SelectConfig, learn: LearnConfig, explore: ExploreConfig) -> None:
    """Raise `ValueError` where nothing would be selected, or learnt, by scores."""
    score, name = select.score, learn.algorithm
    if score == RETURN:
        return
    if explore.resample:
        raise ValueError("explore.resample compares the environment's returns, not select.score")
    if score == "self" and select.rule == "succeeded":
        raise ValueError(
            "select.rule = 'succeeded' keeps returns of 1, which no score by select.score = 'self' reaches:"
            " take threshold, top_k_ratio, best_of, rejection or all"
        )
    chosen = objective(name, learn.options)
    if chosen.algorithm.data == "labels":
        raise ValueError(
            f"learn.algorithm {name!r} labels episodes by success: learn from scores with feedback=self"
        )
    binary = "threshold" in chosen.options and chosen.options.get("weighting", "binary") == "binary"
    if binary and "threshold" not in learn.options:
        raise ValueError(
            f"learn.algorithm {name!r} gives a score below {chosen.options['threshold']} no weight: take sft,"
            " which learns all that is selected, or set learn.options.threshold"
        )
