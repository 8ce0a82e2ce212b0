"""`openenv.yaml`: the manifest of an environment for OpenEnv's own tools.

`openenv validate` reads the block `validation`, which is derived from the environment.
"""

import inspect
from typing import Any

import yaml

from agentgym_envs.core import Environment
from agentgym_server.settings import ServerSettings

LONGEST_EPISODE_S = 3600.0
"""Limit of OpenEnv's policy."""
DISK_MB = 512


def summary(environment: Environment[Any]) -> str:
    """One-line description of an environment."""
    return (inspect.getdoc(type(environment)) or environment.name).partition("\n")[0]


def openenv_yaml(env: str, environment: Environment[Any]) -> str:
    """The manifest of one environment."""
    return yaml.safe_dump(_manifest(env, environment), sort_keys=False, allow_unicode=True)


def _manifest(env: str, environment: Environment[Any]) -> dict[str, Any]:
    settings = ServerSettings()
    return {
        "spec_version": 1,
        "name": env,
        "version": environment.version,
        "description": summary(environment),
        "type": "space",
        "runtime": "fastapi",
        "port": 8000,
        "validation": {
            "reward": _reward(environment),
            "resources": {
                "cpu": 1.0,
                "memory_mb": settings.worker_memory_bytes >> 20,
                "disk_mb": DISK_MB,
                "episode_timeout_s": min(LONGEST_EPISODE_S, environment.max_turns * settings.step_deadline_s),
            },
            "capabilities": {
                "verifier": {"kind": "reward_channel"},
                "task_api": True,
                "declared_task_count": {split: len(environment.tasks(split)) for split in environment.splits},
            },
            "types": {"tags": [env]},
            "task_distribution": {"dataset_version": environment.data_version},
        },
    }


def _reward(environment: Environment[Any]) -> dict[str, Any]:
    """The reward range, and the margin between its maximum and the best baseline without skill."""
    low, high = environment.reward_range
    floor = max((worst for _, worst in environment.baselines.values()), default=low)
    return {"range": [low, high], "oracle_tolerance": 0.0, "floor_margin": round(high - floor, 6)}
