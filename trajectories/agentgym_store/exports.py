"""Exports to foreign data set formats, as pure functions over trajectories.

AgentTraj (AgentGym), one JSON array:

    {"item_id": "alfworld_0", "conversations": [
        {"from": "human", "loss": null, "value": "You are in ..."},
        {"from": "gpt", "loss": true, "value": "look"}],
     "reward": 1.0, "success": true, "meta": {...}}

TRL conversational SFT, JSON Lines:

    {"messages": [{"role": "user", "content": "You are in ..."}, {"role": "assistant", "content": "look"}],
     "meta": {...}}

These formats hold text. Episodes that failed or were cancelled have no return and are left out, and so are
episodes without an action. The observation after the last action is left out as well: no message follows it.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentgym_store.errors import StoreError, one_line
from agentgym_store.files import whole_file, write_lines
from agentgym_store.records import Trajectory

Row = dict[str, Any]


def agent_traj(
    trajectories: Iterable[Trajectory], *, opening: tuple[str, str] | None = None, meta: bool = True
) -> Iterator[Row]:
    """AgentTraj rows. `item_id` counts the rows of an environment from 0; the task's own id is in `meta`.

    `opening` is AgentGym's start of a conversation: the prompt and its acknowledgement, which is masked.
    """
    numbers: dict[str, int] = {}
    for episode in _acted(trajectories):
        number = numbers.get(episode.env, 0)
        numbers[episode.env] = number + 1
        conversations = [*_agent_traj_opening(opening), *_agent_traj_turns(episode, opening is not None)]
        row: Row = {"item_id": f"{episode.env}_{number}", "conversations": conversations}
        row |= {"reward": episode.total_reward, "success": episode.succeeded()}
        yield row | ({"meta": provenance(episode)} if meta else {})


def conversational_sft(
    trajectories: Iterable[Trajectory], *, opening: tuple[str, str] | None = None, meta: bool = True
) -> Iterator[Row]:
    """Rows for TRL's `SFTTrainer`, roles `user` and `assistant` in turn; `opening` as in `agent_traj`.

    The format has no mask: how many of the first assistant messages were not chosen by the policy is in
    `meta`, as `given_turns`.
    """
    for episode in _acted(trajectories):
        texts = [*(opening or ()), *_texts(episode, opening is not None)]
        roles = ("user", "assistant")
        messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
        yield {"messages": messages} | ({"meta": provenance(episode)} if meta else {})


def export_agent_traj(
    trajectories: Iterable[Trajectory],
    path: Path,
    *,
    opening: tuple[str, str] | None = None,
    meta: bool = True,
) -> int:
    """Write one JSON array, whole or not at all, and return its length. Raises `StoreError`."""
    written = 0
    with whole_file(path) as file:
        file.write(b"[")
        for row in agent_traj(trajectories, opening=opening, meta=meta):
            file.write(b",\n" if written else b"\n")
            file.write(_json(row).encode())
            written += 1
        file.write(b"\n]\n")
    return written


def export_sft(
    trajectories: Iterable[Trajectory],
    path: Path,
    *,
    opening: tuple[str, str] | None = None,
    meta: bool = True,
) -> int:
    """Write JSON Lines, all or none, and return their number. Raises `StoreError`."""
    rows = conversational_sft(trajectories, opening=opening, meta=meta)
    return write_lines((_json(row) for row in rows), path)


def provenance(episode: Trajectory) -> Row:
    """Origin of a row; `policy_version` is that of the last sample, None for scripted agents."""
    versions = [turn.sample.policy_version for turn in episode.turns if turn.sample is not None]
    return {
        "session_id": episode.id,
        "env": episode.env,
        "env_version": episode.env_version,
        "data_version": episode.data_version,
        "task_id": episode.task_id,
        "seed": episode.seed,
        "policy_version": versions[-1] if versions else None,
        "outcome": episode.ending.kind,
        "total_reward": episode.total_reward,
        "given_turns": episode.given_turns,
    }


def first_message(episode: Trajectory) -> str:
    """The first message to an agent: the observation, after the instruction unless it contains that."""
    if not episode.instruction or episode.instruction in episode.initial_observation:
        return episode.initial_observation
    return f"{episode.instruction}\n\n{episode.initial_observation}"


def _acted(trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
    return (episode for episode in trajectories if episode.turns and episode.total_reward is not None)


def _texts(episode: Trajectory, opened: bool) -> list[str]:
    """Messages of environment and agent in turn; the last one is the agent's."""
    texts = [episode.initial_observation if opened else first_message(episode)]
    for turn in episode.turns:
        texts += [turn.action if turn.sample is None else turn.sample.text, turn.observation]
    return texts[:-1]


def _agent_traj_opening(opening: tuple[str, str] | None) -> list[Row]:
    if opening is None:
        return []
    prompt, acknowledgement = opening
    return [
        {"from": "human", "loss": None, "value": prompt},
        {"from": "gpt", "loss": False, "value": acknowledgement},
    ]


def _agent_traj_turns(episode: Trajectory, opened: bool) -> list[Row]:
    return [
        {"from": "gpt", "loss": _is_learnt(episode, place // 2), "value": text}
        if place % 2
        else {"from": "human", "loss": None, "value": text}
        for place, text in enumerate(_texts(episode, opened))
    ]


def _is_learnt(episode: Trajectory, number: int) -> bool:
    """True if any token of the turn is trained on; AgentTraj marks whole turns only."""
    if number < episode.given_turns:
        return False
    sample = episode.turns[number].sample
    return sample is None or sample.loss_mask is None or 1 in sample.loss_mask


def _json(row: Row) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError as cause:
        raise StoreError(f"a row cannot be written as JSON: {one_line(cause)}") from cause
