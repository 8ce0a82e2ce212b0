"""Conversations as drafts: who speaks, and what is answered."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from agentgym_store.imports.contract import Draft, DraftTurn, Shape, members, validated
from agentgym_store.imports.reading import Refusal
from agentgym_store.records import Cancelled, Ending, Failed, Terminated, Truncated

Speaker = Literal["system", "environment", "agent"]

SPEAKERS: dict[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "human": "environment",
    "user": "environment",
    "tool": "environment",
    "function": "environment",
    "observation": "environment",
    "gpt": "agent",
    "assistant": "agent",
    "function_call": "agent",
    "tool_call": "agent",
}
"""Names of speakers in ShareGPT, AgentTraj and OpenAI's messages."""

SILENT = "without a message of the agent"
AGENT_FIRST = "begins with a message of the agent"


class Said(NamedTuple):
    """A message."""

    speaker: Speaker
    text: str
    is_learnt: bool = True


def speaker(name: str) -> Speaker:
    """Speaker of this name. Raises `Refusal` for an unknown one."""
    if name not in SPEAKERS:
        raise Refusal("unknown speaker", repr(name[:80]))
    return SPEAKERS[name]


def conversation(said: Sequence[Said]) -> tuple[str, tuple[DraftTurn, ...]]:
    """Text that the agent read before its first message, and its turns.

    Messages of one side in a row are one message. Raises `Refusal` where the agent says nothing, or begins.
    """
    runs = _runs(said)
    if not any(one.speaker == "agent" for one in runs):
        raise Refusal(SILENT)
    if runs[0].speaker == "agent":
        raise Refusal(AGENT_FIRST)
    answers = [*(one.text for one in runs[2::2]), ""]
    turns = [
        DraftTurn(one.text, answer, is_learnt=one.is_learnt)
        for one, answer in zip(runs[1::2], answers, strict=False)
    ]
    return runs[0].text, tuple(turns)


def _runs(said: Iterable[Said]) -> list[Said]:
    """Messages of agent and environment in turn; a system's message is the environment's."""
    runs: list[Said] = []
    for one in said:
        own: Speaker = "agent" if one.speaker == "agent" else "environment"
        if runs and runs[-1].speaker == own:
            last = runs.pop()
            one = Said(own, f"{last.text}\n\n{one.text}", last.is_learnt and one.is_learnt)
        runs.append(Said(own, one.text, one.is_learnt))
    return runs


class _Meta(Shape):
    """`meta` of a row that this package exported."""

    env: str | None = None
    env_version: str | None = None
    data_version: str | None = None
    task_id: str | None = None
    split: str | None = None
    kind: str | None = None
    seed: int | None = None
    outcome: str | None = None
    total_reward: float | None = None
    given_turns: int = 0


def drafted(
    record: Any,
    opening: str,
    turns: tuple[DraftTurn, ...],
    *,
    name: str | int | None,
    env: str | None = None,
    notes: tuple[str, ...] = (),
) -> Draft:
    """A draft with what the members `meta`, `reward` and `env` of a record tell, if it has any.

    `name` is that of the record, by which its task is named where nothing else is; `env` is the environment
    where no member names one.
    """
    found = members(record)
    meta = validated(_Meta, dict(members(found.get("meta"))))
    told = found.get("env")
    own = None if name is None else str(name)
    return Draft(
        opening=opening,
        turns=turns,
        id=own,
        env=meta.env or (told if isinstance(told, str) else env),
        env_version=meta.env_version,
        data_version=meta.data_version,
        task_id=meta.task_id or own,
        split=meta.split,
        kind=meta.kind,
        seed=meta.seed,
        reward=meta.total_reward if found.get("reward") is None else number(found["reward"]),
        ending=ending(meta.outcome),
        given_turns=meta.given_turns,
        notes=notes,
    )


def number(value: Any) -> float:
    """A finite number. Raises `Refusal`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refusal("a reward that is not a finite number", repr(value)[:80])
    return float(value)


def ending(outcome: str | None) -> Ending | None:
    """The ending that `meta.outcome` names; None where it names none."""
    endings: dict[str, Ending] = {
        "terminated": Terminated(),
        "truncated": Truncated(limit="unknown"),
        "cancelled": Cancelled(),
        "failed": Failed(failure="unknown"),
    }
    return endings.get(outcome or "")
