"""Example episodes for checks of rewards, potentials and judges."""

from random import Random

from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn

HOSTILE = ("", " ", "\x00\x1b[2J", "\ud7ff\u202e", "a " * 2000, "1e999", "nan", "{" * 200, "</s>Thought:")
"""Texts on which a parser may fail."""
WORDS = ("go", "look", "take", "lamp", "desk", "to", "the", "north")


def example_episodes(seed: int = 0, count: int = 12) -> list[Trajectory]:
    """Episodes with a return, of four samples a task: won and lost, cut by a limit, with repetitions, with
    hostile texts and with scripted turns. Equal seeds give equal episodes.
    """
    random = Random(seed)
    return [_episode(random, number) for number in range(count)]


def _episode(random: Random, number: int) -> Trajectory:
    lengths, won = random.randint(1, 6), number % 3 == 0
    turns = [_turn(random, place, scripted=number % 4 == 3) for place in range(lengths)]
    last = turns[-1].model_copy(update={"reward": 1.0 if won else random.choice((0.0, 0.25, 0.5))})
    return Trajectory(
        id=f"example/1/task-{number // 4}/{number:03}",
        run="example",
        iteration=1,
        purpose="explore",
        env="example",
        env_version="1",
        data_version="1",
        task_id=f"task-{number // 4}",
        split="train",
        kind="example",
        difficulty="easy",
        instruction="Find the lamp.",
        seed=number // 4,
        attempt=number % 4,
        policy="0001",
        initial_observation=random.choice(("You see a desk.", HOSTILE[number % len(HOSTILE)])),
        turns=(*turns[:-1], last),
        ending=Terminated() if won or number % 2 else Truncated(limit="max_turns"),
        started_at="2026-01-01T00:00:00Z",
        wall_s=0.1,
    )


def _turn(random: Random, place: int, *, scripted: bool) -> Turn:
    words = [random.choice(WORDS) for _ in range(random.randint(1, 6))]
    said = " ".join(words * random.randint(1, 3))
    if random.random() < 0.3:
        said += random.choice(HOSTILE)
    sample = Sample(
        text=said,
        prompt_ids=tuple(range(1, 3 + place)),
        token_ids=tuple(range(1, 1 + len(words))),
        logprobs=(-0.5,) * len(words),
        policy_version=1,
    )
    seen = random.choice((*HOSTILE, "A lamp.", "A desk."))
    info: dict[str, object] = {"state": seen, "invalid_action": random.random() < 0.2}
    return Turn(
        action=said.strip(), observation=seen, reward=0.0, sample=None if scripted else sample, info=info
    )
