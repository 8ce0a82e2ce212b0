"""A run folder and tables for the web pages, with ordinary and hostile episodes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from support.trajectories import trajectory

from agentevol.config.run import RunConfig
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.ui.app import create_app
from agentevol.ui.settings import UiSettings
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Store

MARKUP = "</pre></textarea></title><script>window.hacked=1;alert(1)</script><img src=x onerror=alert(2)>"
LINK = "[a](javascript:alert(3)) <a href='javascript:alert(4)'>b</a> {{ 7 * 7 }}"
CONTROLS = "\x1b[31mred\x1b[0m \u202eevil\u202c \u2066x\u2069 \x00 \u200b"
HOSTILE = f"{MARKUP} {LINK} {CONTROLS}"
LONG = 1_000_000
"""Characters of the longest observation."""
WORDS = ["<unk>", "go", "left", "right", "higher"]


def turn(action: str, observation: str = "You see a door.", reward: float = 0.0, **fields: Any) -> Turn:
    """Return a turn with three sampled tokens."""
    sample = Sample(
        text=fields.pop("text", f"Thought: on. Action: {action}"),
        prompt_ids=(1, 2),
        token_ids=(1, 2, 4),
        logprobs=(-0.01, -1.2, -5.0),
        policy_version=3,
        loss_mask=(1, 1, 0),
    )
    return Turn(action=action, observation=observation, reward=reward, sample=sample, **fields)


def episode(name: str, rewards: Sequence[float] = (0.0, 1.0), **fields: Any) -> Trajectory:
    """Return an episode of the guess environment with a turn for each reward."""
    turns = tuple(turn(f"go {place}", f"Door {place}.", reward) for place, reward in enumerate(rewards))
    return trajectory(
        **{
            "id": name,
            "run": "first",
            "task_id": "guess-5",
            "instruction": "Find the number.",
            "initial_observation": "Make a guess.",
            "turns": turns,
            "ending": Terminated() if sum(rewards) >= 1 else Truncated(limit="max_turns"),
            "started_at": "2026-01-01T00:00:00Z",
            "wall_s": 2.0,
            "kind": "numbers",
            **fields,
        }
    )


def hostile_episode() -> Trajectory:
    """Return an episode all of whose texts are hostile."""
    turns = (
        turn(HOSTILE, HOSTILE, text=f"{HOSTILE} Action: {HOSTILE}", info={"mode": 2, HOSTILE: HOSTILE}),
        turn("look", f"{MARKUP}{'x' * LONG}", reward=-0.5),
    )
    names = ("kind", "difficulty", "instruction", "policy", "initial_observation", "env", "task_id", "split")
    hostile = dict.fromkeys(names, HOSTILE)
    ending = Failed(failure="worker-lost", detail=HOSTILE)
    return episode(f"hostile/{HOSTILE}", turns=turns, ending=ending, attempt=1, iteration=2, **hostile)


def episodes() -> list[Trajectory]:
    """Return four episodes of one group, two evaluated ones, and the hostile one."""
    group = [
        episode(
            f"first/explore/0001/guess-5/{attempt}",
            rewards,
            attempt=attempt,
            started_at=f"2026-01-01T00:00:0{attempt}Z",
        )
        for attempt, rewards in enumerate([(0.0, 1.0), (0.0, 0.0, 0.0), (1.0,), (0.0, 0.0, 1.0)])
    ]
    evaluated = [
        episode(
            f"first/evaluate/000{iteration}/guess-{task}/0",
            (0.0, float(iteration > task)),
            iteration=iteration,
            purpose="evaluate",
            split="test",
            task_id=f"guess-{task}",
        )
        for iteration in (0, 1, 2)
        for task in (0, 1)
    ]
    return [*group, *evaluated, hostile_episode()]


def summary(iteration: int, successes: int, n: int = 2) -> IterationSummary:
    """Return the summary of an iteration."""
    evaluation = EvaluationSummary(
        split="test",
        n=n,
        successes=successes,
        mean_reward=successes / n,
        mean_turns=2.0,
        endings={"terminated": successes, "truncated(max_turns)": n - successes},
        by={"kind": {"numbers": (successes, n)}, "difficulty": {"small": (successes, n)}},
    )
    return IterationSummary(
        iteration=iteration,
        checkpoint=f"{iteration:04d}",
        table_version=iteration,
        explored={"terminated": 3, "truncated(max_turns)": 1} if iteration else {},
        learn={"loss_last": 0.5 / (iteration + 1)},
        evaluation=evaluation,
        seconds={"explore": 3.0},
    )


def make_run(folder: Path, played: Sequence[Trajectory], *, name: str = "first", seed: int = 0) -> Path:
    """Write the folder of a run with three iterations and these episodes."""
    folder.mkdir(parents=True)
    settings = {"name": name, "seed": seed, "environment": {"name": "guess"}, "base": "starter:guess"}
    (folder / "config.toml").write_text(RunConfig.model_validate(settings).to_toml())
    (folder / "iterations").mkdir()
    for iteration in range(3):
        told = summary(iteration, iteration)
        (folder / "iterations" / f"{iteration:04d}.json").write_text(told.model_dump_json())
        with (folder / "metrics.jsonl").open("a") as stream:
            stream.write(told.model_dump_json() + "\n")
    Store.open(folder / "trajectories").append(list(played), commit={"run": name})
    _write_tokenizer(folder / "checkpoints" / "0000" / "tokenizer.json")
    return folder


def _write_tokenizer(file: Path) -> None:
    """A vocabulary of whole words."""
    model = {
        "type": "WordLevel",
        "vocab": {word: place for place, word in enumerate(WORDS)},
        "unk_token": "<unk>",
    }
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))


def client_of(run: Path, **fields: Any) -> TestClient:
    """A client of the pages of the folder in which a run lies."""
    app = create_app(UiSettings((run.parent,), **fields))
    return TestClient(app, base_url="http://127.0.0.1:8600", raise_server_exceptions=False)
