"""Warning of a judge that training and evaluation share: what exploits it looks like progress."""

import json
from collections.abc import Iterator

from agentevol.config.rewards.reward import JudgeReward, RewardSection
from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig


def shared_judges(config: RunConfig) -> list[str]:
    """A line for each model that judges both what is trained on and what is evaluated.

    Evaluations use the environment's own rewards. Judges of these are options of the environment:
    `judge_model`, and others with `judge` in their name whose value is an endpoint as JSON.
    """
    evaluation = set(_of_environment(config.environment))
    shared = evaluation & set(_of_training(config.reward, evaluation))
    return [
        f"warning, {model} judges training and evaluation: a policy that exploits it seems to become better;"
        " train with another judge (reward.judge)"
        for model in sorted(shared)
    ]


def _of_environment(environment: EnvironmentConfig) -> Iterator[str]:
    for name, value in environment.options.items():
        if "judge" not in name or not isinstance(value, str):
            continue
        try:
            told = json.loads(value)
        except ValueError:  # the name alone
            told = {"model": value} if name.endswith("judge_model") else {}
        if isinstance(told, dict) and isinstance(told.get("model"), str):
            yield told["model"]


def _of_training(reward: RewardSection, evaluation: set[str]) -> Iterator[str]:
    """Models that give the rewards of training: those of the environment, unless a score replaces them."""
    if not reward.on or getattr(reward, "alpha", 0.0) > 0:
        yield from evaluation
    if isinstance(reward, JudgeReward):
        yield str(reward.options.get("model", ""))
        for name in str(reward.options.get("judges", "")).split(","):
            yield name.strip().removeprefix("openai:")
