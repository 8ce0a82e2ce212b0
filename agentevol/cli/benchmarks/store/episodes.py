"""Generated episodes, of which the benchmark makes tables."""

import random
from collections.abc import Iterator

from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn

TURNS = 12
"""Turns of an episode."""
PROMPT_TOKENS = 160
SAMPLED_TOKENS = 8
OBSERVED_TOKENS = 12
COMMIT = 1_000
"""Episodes of an append."""
ITERATIONS = 10
IN_MODES = "social"
"""Environment that is played in thinking modes."""
MODES = 4
_DIFFERENT = 2_000
"""Episodes that differ in what was said: more than a row group has, so that none compresses to nothing."""


def episode(index: int, randomness: random.Random) -> Trajectory:
    """12 turns; the last prompt and its answer are about 400 tokens of a word-level vocabulary."""
    ids = tuple(randomness.randrange(1500) for _ in range(PROMPT_TOKENS))
    turns: list[Turn] = []
    for number in range(TURNS):
        sampled = tuple(randomness.randrange(1500) for _ in range(SAMPLED_TOKENS))
        logprobs = tuple(-randomness.random() for _ in range(SAMPLED_TOKENS))
        action = f"go to countertop {randomness.randrange(20)}"
        sample = Sample(text=action, prompt_ids=ids, token_ids=sampled, logprobs=logprobs, policy_version=3)
        seen = f"On the countertop {number}, you see a mug {randomness.randrange(9)}, and a spoon 2."
        turns.append(
            Turn(
                action=action,
                observation=seen,
                reward=float(number == TURNS - 1),
                sample=sample,
                policy_s=float(f"{randomness.uniform(0.05, 2):.3g}"),
                environment_s=float(f"{randomness.uniform(0.001, 0.05):.3g}"),
            )
        )
        ids = ids + sampled + tuple(randomness.randrange(1500) for _ in range(OBSERVED_TOKENS))
    return Trajectory(
        id=f"run/1/train-{index}/0",
        run="run",
        iteration=1,
        purpose="explore",
        env="alfworld",
        env_version="1.0.0",
        data_version="builtin:1.0.0",
        task_id=f"train-{index}",
        split="train",
        kind="pick_two_obj_and_place",
        difficulty="small",
        instruction="put two mugs in shelf.",
        seed=index,
        attempt=0,
        policy="checkpoint-1",
        initial_observation="You are in the middle of a room. Looking quickly around you, you see a shelf 1.",
        turns=tuple(turns),
        ending=Terminated() if index % 3 else Truncated(limit="max_turns"),
        started_at="2025-01-01T00:00:00Z",
        wall_s=1.5,
    )


def commits(episodes: int) -> Iterator[list[Trajectory]]:
    """Batches of episodes of ten iterations and two environments, one of them played in thinking modes."""
    randomness = random.Random(0)
    pool = [_placed(episode(index, randomness)) for index in range(min(_DIFFERENT, episodes))]
    for start in range(0, episodes, COMMIT):
        numbers = range(start, min(start + COMMIT, episodes))
        yield [_numbered(pool[number % len(pool)], number, episodes) for number in numbers]


def _placed(played: Trajectory) -> Trajectory:
    """The episode, every second one in thinking modes."""
    if played.seed % 2 == 0:
        return played
    turns = [
        turn.model_copy(update={"info": {"mode": number % MODES + 1}})
        for number, turn in enumerate(played.turns, start=played.seed)
    ]
    return played.model_copy(update={"env": IN_MODES, "turns": tuple(turns)})


def _numbered(played: Trajectory, number: int, episodes: int) -> Trajectory:
    iteration = number * ITERATIONS // episodes + 1
    changed = {
        "id": f"run/{iteration}/train-{number}/0",
        "iteration": iteration,
        "task_id": f"train-{number}",
    }
    return played.model_copy(update=changed)
