"""Figures of an evaluation: mean scores by seat and group, endings, failures, tokens, thinking modes."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from agentevol.core.errors import ConfigError, FormatFault, PolicyFault
from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.rollout.dimensions.means import Scored, dimension_means
from agentevol.rollout.seats import PARTNER
from agentgym_envs.core import Record

Group = Literal["source", "relationship", "kind", "difficulty", "scenario", "ending"]
"""Members of a record by which an evaluation can be broken down."""
GROUPS: tuple[Group, ...] = get_args(Group)
ROLES = ("judge", "partner")
"""Models of the environment that tell of their requests."""
COUNTED = ("requests", "cached", "prompt_tokens", "completion_tokens", "cost")
OWN_FAULTS = (PolicyFault.kind, FormatFault.kind)
"""Causes of a failure that lie with one agent; others, such as `judge`, with the environment."""
Means = dict[str, MeanScore]
"""Mean score by dimension, and overall."""


class EvaluationFigures(Record):
    """Figures of the policy, and of its partner beside."""

    episodes: int
    """Requested episodes."""
    played: int
    """Episodes that ended."""
    agents: int
    """Seats of all played episodes that the policy played: every one has an ending."""
    endings: dict[str, int]
    """By ending; they sum to `agents`."""
    failures: dict[str, int]
    """Failed episodes by their cause: `judge`, `policy`, `policy of the partner`, ..."""
    end_reasons: dict[str, int]
    """Of the environment; an episode may have several. One count for each seat of the policy."""
    tokens_per_turn: float | None
    levels: dict[str, int]
    """Turns by thinking mode."""
    unscored: int
    """Seats of the policy with a return and no scores: a limit cut their episode before it was scored."""
    scores: Means
    by_seat: dict[str, Means]
    partner: Means
    """The partner's scores."""
    by: dict[str, dict[str, Means]]
    views: list[str]
    """Information on each other that agents were shown, as the environment tells it."""
    judges: list[dict[str, Any]]
    """Identities of judges; one that is no mapping has the member `judge`."""
    requests: dict[str, dict[str, int | float]]
    """Requests of the environment's judge and partner to their endpoints: numbers, tokens and cost. Failed
    episodes do not tell theirs, so that more may have been spent.
    """
    labels: list[str]
    """Labels of the scores, as the environment tells them."""


def groups_of(names: Iterable[str]) -> list[Group]:
    """The groups of these names. Raises `ConfigError` for an unknown one."""
    wanted = list(names)
    if unknown := [name for name in wanted if name not in GROUPS]:
        raise ConfigError(f"no scores by {unknown[0]!r}; there are: {', '.join(GROUPS)}")
    return [group for group in GROUPS if group in wanted]


def figures_of(records: Sequence[EvaluationRecord], by: Iterable[Group] = ()) -> EvaluationFigures:
    """Figures of an evaluation with at least one record; `by` are the groups whose scores are wanted."""
    own = [record for record in records if record.role == "policy"]
    known = [record for record in own if record.tokens is not None and record.reward is not None]
    turns = sum(record.turns for record in known)
    levels = sum((Counter(record.levels) for record in own), Counter[str]())
    return EvaluationFigures(
        episodes=records[0].requested,
        played=len({record.episode for record in records}),
        agents=len(own),
        endings=_counted(record.ending for record in own),
        failures=_counted(_failures(records)),
        end_reasons=_counted(reason for record in own for reason in record.end_reasons),
        tokens_per_turn=sum(record.tokens or 0 for record in known) / turns if turns else None,
        levels=dict(sorted(levels.items())),
        unscored=sum(record.reward is not None and record.scores is None for record in own),
        scores=_means(own),
        by_seat=_grouped(own, lambda record: "" if record.seat is None else str(record.seat)),
        partner=_means([record for record in records if record.role == "partner"]),
        by={group: _grouped(own, lambda record, group=group: getattr(record, group)) for group in by},
        views=_distinct(record.view for record in own),
        judges=_judges(own),
        requests={role: counts for role in ROLES if (counts := _requests(records, role))},
        labels=_distinct(str(record.info.get("label", "")) for record in own),
    )


def _requests(records: Iterable[EvaluationRecord], role: str) -> dict[str, int | float]:
    """Sums over episodes; all seats of an episode tell of the same requests."""
    told = {record.episode: record.judge if role == "judge" else record.info.get(role) for record in records}
    sums: dict[str, int | float] = {}
    for members in told.values():
        counts = members if isinstance(members, dict) else {}
        for name in COUNTED:
            if isinstance(count := counts.get(name), int | float):
                sums[name] = sums.get(name, 0) + count
    return sums


def _judges(records: Iterable[EvaluationRecord]) -> list[dict[str, Any]]:
    told = [one.judge_identity for one in records if one.judge is not None]
    named = [one if isinstance(one, dict) else {"judge": one} for one in told]
    return list({json.dumps(one, sort_keys=True): one for one in named}.values())


def _distinct(texts: Iterable[str]) -> list[str]:
    return sorted({text for text in texts if text})


def _means(records: Iterable[EvaluationRecord]) -> Means:
    scored = ((record.scenario, record.scores) for record in records)
    return dimension_means(Scored(cluster, scores) for cluster, scores in scored if scores is not None)


def _grouped(
    records: Iterable[EvaluationRecord], value: Callable[[EvaluationRecord], str]
) -> dict[str, Means]:
    groups: dict[str, list[EvaluationRecord]] = defaultdict(list)
    for record in records:
        if value(record):
            groups[value(record)].append(record)
    return {name: _means(group) for name, group in sorted(groups.items())}


def _failures(records: Iterable[EvaluationRecord]) -> Iterable[str]:
    """Cause of each failed episode: of an agent that did not fail because of another, if one is there."""
    causes: dict[str, str] = {}
    for record in records:
        if not record.ending.startswith("failed("):
            continue
        cause = record.ending.removeprefix("failed(").removesuffix(")")
        if record.episode not in causes or cause != PARTNER:
            theirs = record.role == "partner" and cause in OWN_FAULTS
            causes[record.episode] = f"{cause} of the partner" if theirs else cause
    return causes.values()


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
