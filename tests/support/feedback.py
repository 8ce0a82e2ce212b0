"""A table of episodes that a tiny model of the guess environment played, for feedback."""

from collections.abc import Sequence
from pathlib import Path

from support.tiny_models import write_guess_model
from support.trajectories import trajectory

from agentevol.core.protocols import Message
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.store import Store

ANSWER = "Go higher than 4."


def played(renderer: ChatRenderer, name: str, actions: Sequence[str], **fields: object) -> Trajectory:
    """Return an episode of these actions, with the ids of its prompts."""
    ids, turns = renderer.prompt([Message("user", "Make a guess.")]), list[Turn]()
    for action in actions:
        said = renderer.action_ids(action)
        sample = Sample(
            text=action,
            prompt_ids=tuple(ids),
            token_ids=tuple(said),
            logprobs=(-2.0,) * len(said),
            policy_version=1,
        )
        turns.append(Turn(action=action, observation=ANSWER, reward=0.0, sample=sample))
        ids = [*ids, *said]
        ids += renderer.extend(ids, ANSWER)
    values = {"id": name, "initial_observation": "Make a guess.", "turns": tuple(turns), **fields}
    return trajectory(**values)


def guess_table(folder: Path) -> tuple[Path, Path]:
    """Write a table with three explored episodes and a held-out one, and their model; return both."""
    base = write_guess_model(folder / "base")
    renderer = ChatRenderer(load_tokenizer(base))
    episodes = [
        played(renderer, "a", ["4", "3", "2"]),
        played(renderer, "b", ["4", "6"]),
        played(renderer, "c", ["5", "6", "7"]),
        played(renderer, "test", ["1", "2"], split="test", task_id="u", purpose="evaluate"),
    ]
    Store.open(folder / "home" / "table").append(episodes, commit={"n": "1"})
    return folder / "home" / "table", base
