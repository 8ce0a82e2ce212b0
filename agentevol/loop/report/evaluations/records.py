"""Records of an evaluation: one JSON line for each agent of each episode, in the order in which they end.

{"format": "agentevol.evaluation/1", "episode": "eval/0/test/price/1/0/policy-1", "role": "policy",
 "model": "starter", "partner": "idle", "task": "test/price/1/0", "seat": 1, "seed": 7, ...,
 "ending": "terminated", "reward": 0.8, "dimensions": {"goal": 8.0, "secret": null}, ...}
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, cast

from pydantic import Field, ValidationError

from agentevol.core.errors import ConfigError, one_line
from agentevol.data.episode_logs import Seat
from agentevol.rollout.dimensions.scores import OVERALL, cluster_of, end_reasons_of, last_info, scores_of
from agentevol.rollout.metrics import ending_label, is_invalid
from agentgym_envs.core import Record
from agentgym_envs.thinking import check
from agentgym_store.records import STATE, TOOLS, Trajectory, Turn, total_costs

FORMAT = "agentevol.evaluation/1"
MODES = "modes"
"""Action format in which a reply has a thinking mode."""
SUCCESS = 0.999
"""Least return of a success, as `Trajectory.succeeded` has it."""
CONVERSATION = "conversation"
"""Member of the last step's `info` with the environment's own record of what all agents said."""
MODEL = ("model", "host", "temperature", "max_tokens")
JUDGE = ("kind", *MODEL, "samples", "aggregate", "dimensions", "prompt_sha256")
"""Members of what is told of a partner's model, and of a judge, that identify it."""


class EvaluationRecord(Record):
    """Record of one agent in one episode, with its scores."""

    format: Literal["agentevol.evaluation/1"] = FORMAT
    id: str
    episode: str
    """Equal for the agents of one episode."""
    requested: int
    """Number of episodes that the evaluation requested."""
    role: Literal["policy", "partner"]
    """`policy`: the agent that is evaluated."""
    model: str
    """Name of the agent's model, as it was given."""
    partner: str
    """Player of the other seats: `self`, `environment`, a model, or "" where there are no others."""
    action_format: str
    temperature: float | None = None
    """Sampling temperature; None where it is not known."""
    env: str
    env_version: str
    data_version: str
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Options of the environment; empty for a server that ran already."""
    max_turns: int | None = None
    """Limit of the evaluation; None is the environment's own."""
    split: str
    task: str
    attempt: int
    """Index among the episodes of a task, which have other seeds, from 0."""
    kind: str = ""
    difficulty: str = ""
    seed: int
    seat: int | None
    """None where it is not known: one agent of several, in an environment that does not tell its seat."""
    ending: str
    """`terminated`, `truncated(max_turns)`, `failed(judge)`, ..."""
    detail: str = ""
    """Reason of a failure."""
    reward: float | None
    """Return of the episode; None where it failed."""
    turns: int
    """Turns in which the agent acted."""
    tokens: int | None
    """Tokens that it sampled; None where they are not known."""
    invalid_actions: int | None = None
    """Turns whose action the environment could not carry out; None in records of earlier versions."""
    invalid_in_a_row: int | None = None
    """Most such turns in a row; None in records of earlier versions."""
    state_visits: int | None = None
    """Most turns that the agent took in one and the same state; None in records of earlier versions."""
    costs: dict[str, float | None] = Field(default_factory=dict[str, float | None])
    """Sums of the costs of the agent's turns by name; None is a cost that was not judged."""
    levels: dict[str, int] = Field(default_factory=dict[str, int])
    """Turns by thinking mode, where the environment tells it or the action format has one; -1: malformed."""
    dimensions: dict[str, float | None] | None = None
    """Scores; None where the episode has none. A dimension that is None was not scored."""
    overall: float | None = None
    scenario: str
    """Cluster of the episode: the scenario that the environment tells, or the task."""
    source: str = ""
    relationship: str = ""
    end_reasons: list[str] = Field(default_factory=list[str])
    view: str = ""
    judge: Any = None
    """The judge's identity and figures, as the environment tells them."""
    protocol: Any = None
    info: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Other members of the last step's `info`."""
    conversation: dict[str, Any] | None = None
    """Utterances of all agents, in the environment's own form; None where it does not tell them."""

    @property
    def succeeded(self) -> bool:
        """True if the return reaches the maximum of 1 (within rounding)."""
        return (self.reward or 0.0) >= SUCCESS

    @property
    def judge_identity(self) -> Any:
        """The judge without figures of single episodes, such as tokens: members that decide its scores."""
        return _restricted(self.judge, JUDGE) or self.judge

    @property
    def partner_identity(self) -> dict[str, Any] | None:
        """Model, host and sampling of the environment's own partner; None of one without a model."""
        return _restricted(self.info.get("partner"), MODEL)

    @property
    def scores(self) -> dict[str, float | None] | None:
        """The dimensions, and the overall score."""
        return None if self.dimensions is None else {**self.dimensions, OVERALL: self.overall}


class Agent(NamedTuple):
    """Player of a trajectory."""

    model: str
    action_format: str
    temperature: float | None
    tokens: int | None
    """Tokens that it sampled in this trajectory."""


class Setting(NamedTuple):
    """Setting that the records of an evaluation share."""

    requested: int
    partner: str
    options: Mapping[str, Any]
    max_turns: int | None


_OWN = ("dimensions", "overall_score", "scenario", "source", "relationship", "end_reasons", "view", "judge")
_NOT_INFO = {*_OWN, "protocol", CONVERSATION, STATE, TOOLS}
"""Members of `info` that have fields of their own, or are of the rollout."""


def record_of(trajectory: Trajectory, agent: Agent, setting: Setting) -> EvaluationRecord:
    """The record of a trajectory that an agent played."""
    info = last_info(trajectory)
    scores = scores_of(trajectory)
    own = trajectory.turns[trajectory.given_turns :]
    talk = info.get(CONVERSATION)
    return EvaluationRecord(
        **setting._asdict(),
        **agent._asdict(),
        id=trajectory.id,
        episode=trajectory.episode,
        role="partner" if trajectory.purpose == "partner" else "policy",
        env=trajectory.env,
        env_version=trajectory.env_version,
        data_version=trajectory.data_version,
        split=trajectory.split,
        task=trajectory.task_id,
        attempt=trajectory.attempt,
        kind=trajectory.kind,
        difficulty=trajectory.difficulty,
        seed=trajectory.seed,
        seat=_seat(trajectory),
        ending=ending_label(trajectory),
        detail=trajectory.ending.detail if trajectory.ending.kind == "failed" else "",
        reward=trajectory.total_reward,
        turns=len(own),
        invalid_actions=sum(map(is_invalid, own)),
        invalid_in_a_row=longest_row(map(is_invalid, own)),
        state_visits=max(Counter(_states(trajectory)).values(), default=0),
        costs={name: None if isnan(cost) else cost for name, cost in total_costs(own).items()},
        levels=dict(sorted(Counter(_levels(own, agent.action_format)).items())),
        dimensions=None if scores is None else {k: v for k, v in scores.items() if k != OVERALL},
        overall=None if scores is None else scores[OVERALL],
        scenario=cluster_of(trajectory),
        source=_text(info, "source"),
        relationship=_text(info, "relationship"),
        end_reasons=end_reasons_of(trajectory),
        view=_text(info, "view"),
        judge=info.get("judge"),
        protocol=info.get("protocol"),
        info={name: value for name, value in info.items() if name not in _NOT_INFO},
        conversation=cast("dict[str, Any]", talk) if isinstance(talk, dict) else None,
    )


def seat_of(record: EvaluationRecord) -> Seat:
    """Seat of an exported conversation."""
    info = {**record.info, "conversation": record.conversation, "judge": record.judge}
    single = record.partner == "environment"
    return Seat(record.episode, "eval", None if single else record.seat, record.model, info)


def read_records(path: Path) -> list[EvaluationRecord]:
    """The records of a file in the order of their ids. Raises `ConfigError`, which names file and line."""
    found: dict[str, EvaluationRecord] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as cause:
        raise ConfigError(f"cannot read {path}: {one_line(cause)}") from cause
    for number, line in enumerate(lines, start=1):
        try:
            record = EvaluationRecord.model_validate_json(line)
        except ValidationError as cause:
            place = ".".join(map(str, cause.errors()[0]["loc"]))
            why = f"{place}: {cause.errors()[0]['msg']}" if place else cause.errors()[0]["msg"]
            raise ConfigError(f"{path}, line {number}: no record of an evaluation: {why}") from cause
        if record.id in found:
            raise ConfigError(f"{path}, line {number}: {record.id!r} is there twice")
        found[record.id] = record
    if not found:
        raise ConfigError(f"{path} has no records")
    return [found[identity] for identity in sorted(found)]


def missing(records: Sequence[EvaluationRecord]) -> int:
    """Number of requested episodes of an evaluation that have no record: it was interrupted."""
    return records[0].requested - len({record.episode for record in records})


def append_to(file: TextIO, record: EvaluationRecord) -> None:
    """Write the line of a record, at once: an evaluation that is interrupted keeps what it has played."""
    file.write(record.model_dump_json() + "\n")
    file.flush()


def _seat(trajectory: Trajectory) -> int | None:
    if trajectory.episode_id is not None:
        return trajectory.seat
    told = last_info(trajectory).get("seat")
    return told if isinstance(told, int) and not isinstance(told, bool) else None


def longest_row(values: Iterable[bool]) -> int:
    """Length of the longest row of true values."""
    return max((len(list(group)) for value, group in groupby(values) if value), default=0)


def _states(trajectory: Trajectory) -> list[str]:
    """States in which the agent took its own turns: as recorded, or else what it had read last."""
    read = (trajectory.initial_observation, *(turn.observation for turn in trajectory.turns))
    states = [str(turn.info.get(STATE, seen)) for turn, seen in zip(trajectory.turns, read, strict=False)]
    return states[trajectory.given_turns :]


def _levels(turns: Iterable[Turn], action_format: str) -> Iterator[str]:
    for turn in turns:
        told = turn.info.get("mode")
        if isinstance(told, int):
            yield str(told)
        elif action_format == MODES and turn.sample is not None:
            yield str(check(turn.sample.text).mode)


def _restricted(told: object, names: Iterable[str]) -> dict[str, Any] | None:
    """The members of these names; None without any."""
    members = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    return {name: members[name] for name in names if name in members} or None


def _text(info: Mapping[str, object], name: str) -> str:
    value = info.get(name)
    return "" if value is None else str(value)
