"""Return of a player who takes the first hit in the assistant, by template.

    python -m benchmarks shortcuts [--split train]

Plays all tasks of the levels that have a shortcut.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence

from agentgym_envs.assistant import Assistant


def earned(split: str) -> dict[tuple[str, str], list[float]]:
    """Returns of all tasks of a split by level and template."""
    assistant, returns = Assistant(), defaultdict[tuple[str, str], list[float]](list)
    for task in assistant.tasks(split):
        for actions in assistant.shortcuts(task).values():
            assistant.reset(task, seed=0)
            reward = sum(assistant.step(action).reward for action in actions)
            returns[str(task.difficulty), task.kind].append(reward)
    return returns


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the share of tasks that the player solves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks shortcuts", description=__doc__)
    parser.add_argument("--split", default="test", choices=Assistant().splits)
    returns = earned(parser.parse_args(arguments).split)
    for level in dict.fromkeys(level for level, _ in returns):
        of_level = {kind: won for (name, kind), won in returns.items() if name == level}
        _print(level, [one for won in of_level.values() for one in won])
        for kind, won in sorted(of_level.items(), key=lambda item: -sum(item[1]) / len(item[1])):
            _print(f"  {kind}", won)


def _print(name: str, won: Sequence[float]) -> None:
    print(f"{name:20} {sum(won):5.0f} of {len(won):5}  {sum(won) / len(won):6.1%}")
