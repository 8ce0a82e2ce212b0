"""Process that plays the expert's way of one task: `python -m agentevol.ui.reader.expert_worker`.

Its standard input is one line of JSON, its standard output another: the result, or why there is none.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from agentgym_envs.core import Environment
from agentgym_envs.episodes import Episode, Player, follow
from agentgym_envs.registry import make

MOST_TURNS = 500


def main() -> None:
    """Answer the request on standard input."""
    request = json.loads(sys.stdin.readline())
    answer = sys.stdout
    sys.stdout = sys.stderr  # what an environment prints is not the answer
    try:
        told = _answer(request)
    except Exception as cause:  # noqa: BLE001 - an environment may raise anything
        told = {"problem": f"{type(cause).__name__}: {cause}"}
    answer.write(json.dumps(told) + "\n")
    answer.flush()


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    environment = make(request["env"], **request["options"])
    try:
        return _way(environment, request)
    finally:
        environment.close()


def _way(environment: Environment[Any], request: Mapping[str, Any]) -> dict[str, Any]:
    task = environment.task(request["task_id"])
    plan = environment.expert(task)
    if plan is None:
        return {"problem": f"the environment {request['env']} has no expert for this task"}
    player = Player()
    try:
        played = player.play(environment, task, follow(plan), seed=request["seed"], max_turns=MOST_TURNS)
    finally:
        player.close()
    return {
        "initial": played.first.text,
        "turns": _turns(played),
        "total_reward": played.total_reward,
        "versions": [environment.version, environment.data_version],
    }


def _turns(played: Episode) -> list[dict[str, Any]]:
    return [
        {"action": action, "observation": result.observation.text, "reward": result.reward}
        for action, result in zip(played.actions, played.results, strict=True)
    ]


if __name__ == "__main__":
    main()
