"""Scaffolds of user packages: an environment or an algorithm, with an entry point and a test."""

import keyword
import re
from pathlib import Path
from string import Template

from agentevol.core.errors import ConfigError

_PROJECT = Template("""[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "$name"
version = "0.1.0"
description = "$summary"
requires-python = ">=3.11"
dependencies = ["agentevol$extra"]

[project.entry-points."$group"]
$name = "$name:$attribute"

[tool.hatch.build.targets.wheel]
only-include = ["$name.py"]
""")

_ENVIRONMENT = Template('''"""Say two words in the other order."""

from collections.abc import Sequence
from itertools import permutations
from random import Random

from agentgym_envs import Environment, Observation, StepResult, Task, TaskNotFound

WORDS = ("lamp", "mug", "desk", "pen", "book", "sofa", "bowl", "vase", "clock", "plate", "towel", "shelf")
PAIRS = tuple(" ".join(pair) for pair in permutations(WORDS, 2))
SPLITS = {"valid": PAIRS[0::10], "test": PAIRS[5::10]}
SPLITS["train"] = tuple(pair for pair in PAIRS if pair not in {*SPLITS["valid"], *SPLITS["test"]})


class ${title}Task(Task):
    """Fields of its own stay on the server: agents and clients never see them."""

    pair: str


class $title(Environment[${title}Task]):
    """Reward 1 for both words in the other order."""

    name = "$name"
    max_turns = 2
    blocking = False  # a step is far below a millisecond, so it may run on the server's event loop
    splits = ("train", "valid", "test")

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[${title}Task]:
        if split not in SPLITS:
            raise TaskNotFound(f"no split {split!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None:
            raise ValueError("there are no difficulty levels")
        return [self._task(split, pair) for pair in SPLITS[split]]

    def task(self, task_id: str) -> ${title}Task:
        for split, pairs in SPLITS.items():
            for pair in pairs:
                if pair.replace(" ", "-") == task_id:
                    return self._task(split, pair)
        raise TaskNotFound(f"no task {task_id[:80]!r}")

    def reset(self, task: ${title}Task, seed: int) -> Observation:
        self.pair = task.pair
        return Observation(text=f"The words: {task.pair}")

    def step(self, action: str) -> StepResult:
        # A malformed action is the agent's mistake: it gets an observation, never an exception.
        if action.split() == self.pair.split()[::-1]:
            return StepResult(observation=Observation(text="Right."), reward=1.0, terminated=True)
        return StepResult(observation=Observation(text="No."))

    def expert(self, task: ${title}Task) -> list[str]:
        return [" ".join(task.pair.split()[::-1])]

    def demonstrate(self, task: ${title}Task, seed: int, care: float = 1.0) -> list[str]:
        # A starter policy learns from a player with little care, so that a run has something to improve.
        words = task.pair.split()
        return [" ".join(words[::-1] if Random(seed).random() < care else words)]

    def _task(self, split: str, pair: str) -> ${title}Task:
        text = "Say both words in the other order."
        return ${title}Task(
            env=self.name, id=pair.replace(" ", "-"), split=split, instruction=text, pair=pair
        )
''')

_ENVIRONMENT_TEST = Template("""from agentgym_envs import check_environment
from $name import $title


def test_the_environment_keeps_the_contract():
    report = check_environment($title)
    assert report.passed, report.lines()
""")

_ALGORITHM = Template('''"""Policy gradient with the mean return of a task as baseline.

Gradient of -A log pi over the learnt tokens, where A is the return of an episode less the mean return of the
episodes of its task (REINFORCE with a baseline, as in arXiv:2402.14740).
"""

import numpy as np

from agentevol.core.algorithms.contract import Advantages, Algorithm, Batch, Loss, Rollouts


def centred(rollouts: Rollouts) -> Advantages:
    """(N,) return of each token's episode, less the mean of its group."""
    group = np.unique(list(rollouts.group), return_inverse=True)[1]
    mean = np.bincount(group, weights=rollouts.returns) / np.bincount(group)
    return Advantages((rollouts.returns - mean[group])[rollouts.sequence])


def loss(batch: Batch, *, bound: float = 2.0) -> Loss:
    """Keyword arguments are options: `learn.options.bound=0.5`. The sum is over the batch's tokens."""
    advantage = batch.advantage.clamp(-bound, bound)
    return Loss(-(advantage * batch.logp).sum() / batch.totals.tokens)


ALGORITHM = Algorithm(loss=loss, data="groups", advantage=centred)
''')

_ALGORITHM_TEST = Template("""from agentevol.learn.algorithms.check import check_algorithm


def test_the_algorithm_keeps_the_contract():
    report = check_algorithm("$name:ALGORITHM")
    assert report.passed, report.lines()
""")

_FILES = {
    "environment": {"NAME.py": _ENVIRONMENT, "test_NAME.py": _ENVIRONMENT_TEST},
    "algorithm": {"NAME.py": _ALGORITHM, "test_NAME.py": _ALGORITHM_TEST},
}
_FACTS = {
    "environment": {
        "summary": "An environment for language-model agents.",
        "group": "agentgym.environments",
        "extra": "",
    },
    "algorithm": {
        "summary": "A learning algorithm for language-model agents.",
        "group": "agentevol.algorithms",
        "extra": "[train]",
    },
}


def write_scaffold(kind: str, name: str, place: Path) -> list[Path]:
    """Write a package with an `environment` or an `algorithm` into the new folder `place`; returns the
    written files.

    Raises `ConfigError` for a name that is not a module name, and for a folder that exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} is no name: small letters, digits and _, up to 40, a letter first")
    if place.exists():
        raise ConfigError(f"{place} exists; name a new folder")
    title = name.title().replace("_", "")
    attribute = title if kind == "environment" else "ALGORITHM"
    values = {"name": name, "title": title, "attribute": attribute, **_FACTS[kind]}
    place.mkdir(parents=True)
    written: list[Path] = []
    for file, template in {"pyproject.toml": _PROJECT, **_FILES[kind]}.items():
        path = place / file.replace("NAME", name)
        path.write_text(template.substitute(values), encoding="utf-8")
        written.append(path)
    return written
