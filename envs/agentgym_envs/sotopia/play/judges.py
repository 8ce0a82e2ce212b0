"""Judges of one episode: a program, a model behind an endpoint, a record, or nobody. They find a `Judged`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.social.outcome import LABEL, Outcome
from agentgym_envs.sotopia.data.episodes import RecordedEpisode
from agentgym_envs.sotopia.models.judge import JudgeFault, JudgeModel, judged
from agentgym_envs.sotopia.options import RewardMix
from agentgym_envs.sotopia.play.partners import recorded_episodes
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension, overall
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.protocol.prompts import judge_prompt

UNJUDGED: Final = "nobody has judged this episode: its reward of 0 is no score"
LOWEST: Final = sum(one.low for one in SOTOPIA) / len(SOTOPIA)
HIGHEST: Final = sum(one.high for one in SOTOPIA) / len(SOTOPIA)
"""Range of the overall score."""

Scores = Mapping[str, float | None]
"""All seven dimensions in their order; None where there is no score, which is not 0."""


@dataclass(frozen=True)
class SeatScores:
    """Scores of one seat."""

    dimensions: Scores
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further facts that a program found: `deal`, ..."""
    spread: Mapping[str, float] | None = None
    """Of several samples, the largest minus the smallest."""

    @property
    def overall(self) -> float | None:
        """Mean of the seven scores; None unless there are all."""
        scores = {name: score for name, score in self.dimensions.items() if score is not None}
        return overall(scores) if len(scores) == len(SOTOPIA) else None

    def reward(self, mix: RewardMix) -> float:
        """The reward, 0 to 1; 0 without a score of the goal.

        `goal`: goal/10; `overall`: the overall score as a share of its range; `product`: goal/10 x (1 +
        secret/10) x (1 + social_rules/10), where None has factor 1.
        """
        goal = self.dimensions["goal"]
        if goal is None:
            return 0.0
        if mix == "overall" and self.overall is not None:
            return (self.overall - LOWEST) / (HIGHEST - LOWEST)
        factors = [1 + (self.dimensions[name] or 0.0) / 10 for name in ("secret", "social_rules")]
        return goal / 10 * (factors[0] * factors[1] if mix == "product" else 1.0)


@dataclass(frozen=True)
class Judged:
    """Scores of both seats, or none, and who gave them."""

    label: str
    """Label of the scores; it stands beside them everywhere."""
    seats: tuple[SeatScores, SeatScores]
    judge: Mapping[str, Any]
    """Identity, parameters and figures of the judge."""
    samples: tuple[Judgement, ...] = ()
    """Each judgement of a model."""
    is_scored: bool = True


def verified(outcomes: tuple[Outcome, Outcome]) -> Judged:
    """The scores of a program."""
    first, second = (SeatScores(one.scores, facts=one.facts) for one in outcomes)
    return Judged(LABEL, (first, second), {"kind": "verify"})


def unjudged() -> Judged:
    """No scores."""
    nothing = SeatScores(dict.fromkeys(one.name for one in SOTOPIA))
    return Judged(UNJUDGED, (nothing, nothing), {"kind": "none"}, is_scored=False)


async def judged_by(
    model: JudgeModel,
    prompt: str,
    names: tuple[str, str],
    dimensions: Sequence[Dimension],
    cached: AnswerCache | None,
    budget: Budget | None,
) -> Judged:
    """The scores of a model. Raises `JudgeFault`."""
    found = await judged(prompt, names, model, dimensions=dimensions, cache=cached, budget=budget)
    first, second = (
        SeatScores(
            {one.name: scores.get(one.name) for one in SOTOPIA},
            spread=spread if model.samples > 1 else None,
        )
        for scores, spread in zip(found.scores, found.spread, strict=True)
    )
    return Judged(
        label=f"scores of the judge {model.model}",
        seats=(first, second),
        judge={**identity(model, dimensions), **found.figures},
        samples=found.samples,
    )


def recorded(
    file: Path, scene: Scene, log: Sequence[tuple[Action, Action]], dimensions: Sequence[Dimension]
) -> Judged:
    """The scores that a file has of this conversation: of these characters, with all these actions.

    Raises `JudgeFault` for a conversation that the file does not have, or has without scores.
    """
    found = _recorded(file).get(_key(scene.environment.pk, [one.pk for one in scene.agents], log))
    if found is None:
        raise JudgeFault("no judgement of this conversation is recorded")
    if found.scores is None:
        raise JudgeFault(f"the conversation is recorded as {found.pk[:80]!r}, and nobody judged it")
    chosen = {one.name for one in dimensions}
    first, second = (
        SeatScores({one.name: seat.by_dimension[one.name] if one.name in chosen else None for one in SOTOPIA})
        for seat in found.scores
    )
    judge = {"kind": "replay", "model": found.models[0], "dimensions": [one.name for one in dimensions]}
    return Judged(
        f"recorded scores of the judge {found.models[0]}", (first, second), {**judge, "episode": found.pk}
    )


@lru_cache(maxsize=4)
def _recorded(file: Path) -> Mapping[str, RecordedEpisode]:
    """Recorded episodes by their conversation; of several with one, the first that was judged."""
    found: dict[str, RecordedEpisode] = {}
    for episode in recorded_episodes(file):
        key = _key(episode.environment, episode.agents, episode.log)
        if key not in found or found[key].scores is None:
            found[key] = episode
    return found


def _key(scenario: str, agents: Iterable[str], log: Sequence[tuple[Action, Action]]) -> str:
    said = [[action.text for action in both] for both in log]
    return sha256(json.dumps([scenario, *agents, said]).encode()).hexdigest()


def identity(model: JudgeModel, dimensions: Sequence[Dimension]) -> dict[str, Any]:
    """Identity of a judge: all that decides its scores besides the conversation."""
    return {
        "kind": "openai",
        "model": model.model,
        "host": model.host,
        "temperature": model.temperature,
        "max_tokens": model.max_tokens,
        "samples": model.samples,
        "aggregate": model.aggregate,
        "dimensions": [one.name for one in dimensions],
        "prompt_sha256": form_digest(tuple(dimensions)),
    }


@cache
def form_digest(dimensions: tuple[Dimension, ...]) -> str:
    """SHA-256 of the judge's prompt without a conversation: equal for judges that are asked the same."""
    return sha256(judge_prompt("", ("", ""), (), dimensions).encode()).hexdigest()
