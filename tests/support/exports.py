"""Rows of export formats, and tables to export."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.trajectories import trajectory

from agentevol.data.exports.registry import ALL_FORMATS
from agentgym_store.exports import Tally, export_format
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Store


def rows(name: str, episodes: Sequence[Trajectory], tally: Tally | None = None, **options: Any) -> list[Any]:
    """The rows of a format, as they are written."""
    chosen, counted = export_format(name, options, ALL_FORMATS), tally or Tally()
    return [chosen.numbered(one, counted) for one in chosen.rows(episodes, counted)]


def sampled(text: str, prompt: Sequence[int], draw: random.Random, version: int = 3, **more: Any) -> Sample:
    """A sample of some tokens."""
    ids = tuple(draw.randrange(1000) for _ in range(4))
    logprobs = tuple(-draw.random() for _ in ids)
    return Sample(
        text=text,
        prompt_ids=tuple(prompt),
        token_ids=ids,
        logprobs=logprobs,
        policy_version=version,
        **more,
    )


def varied(index: int, draw: random.Random) -> Trajectory:
    """An episode of task `index // 4`: won, lost, cut off or failed, sampled or scripted, with odd texts."""
    ids, turns = [1, 2, 3], list[Turn]()
    is_scripted = index % 11 == 10
    for number in range(1 + index % 3):
        text = f"go to {index % 4} in {number} é\u2028\n\"'"
        said = None if is_scripted else sampled(text, ids, draw, version=index % 5)
        ids += [*(said.token_ids if said else ()), draw.randrange(1000)]
        info: dict[str, object] = {"invalid_action": True, "n": [index, None]} if index % 7 == 0 else {}
        turns.append(
            Turn(
                action=text.strip(),
                observation=f"room {number} of {index % 4}",
                reward=0.0,
                sample=said,
                info=info,
                costs={"harm": 0.25, "unjudged": None} if index % 5 == 0 else {},
                policy_s=None if is_scripted else 0.0625 * number,
                environment_s=0.0021 if index % 3 else None,
            )
        )
    if index % 4 == 0:
        turns[-1] = turns[-1].model_copy(update={"reward": 1.0})
    ending = (
        Terminated(),
        Terminated(),
        Truncated(limit="max_turns"),
        Failed(failure="transport", detail="x"),
    )
    return trajectory(
        id=f"run/1/{index}",
        run=f"run-{index % 2}",
        iteration=index % 3,
        env="alfworld" if index % 8 < 6 else "guess",
        data_version="generated:2",
        task_id=f"train-{index // 4}",
        split="train" if index % 3 else "valid",
        kind=f"kind-{index % 2}",
        seed=index,
        attempt=index % 4,
        policy=f"checkpoint-{index % 2}",
        instruction="find it",
        initial_observation=f"a room {index // 4}",
        turns=tuple(turns),
        ending=ending[index % 4],
        started_at=f"2026-01-{1 + index % 28:02d}T00:00:00.000+00:00",
        wall_s=0.5,
        given_turns=1 if index % 9 == 8 and len(turns) > 1 else 0,
        parent=f"run/1/{index - 1}" if index % 9 == 8 else None,
        temperature=0.5 if index % 6 == 0 else None,
    )


def varied_episodes(count: int) -> list[Trajectory]:
    """The first `count` episodes of `varied`."""
    draw = random.Random(0)
    return [varied(index, draw) for index in range(count)]


def table_of(place: Path, episodes: Sequence[Trajectory], each: int = 50) -> Store:
    """A new table of these episodes, `each` of them in a file."""
    store = Store.open(place)
    for start in range(0, len(episodes), each):
        store.append(episodes[start : start + each], commit={"part": str(start)})
    return store


def contents(folder: Path) -> dict[str, bytes]:
    """Bytes of all files below a folder, or of a file, by name."""
    if folder.is_file():
        return {folder.name: folder.read_bytes()}
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
