"""Gymnasium adapter of every environment, in process or on a server.

    import gymnasium
    import agentgym_client.gymnasium  # registers the ids

    env = gymnasium.make("agentgym/ALFWorld-v0", base_url="http://127.0.0.1:8000")
    observation, info = env.reset(seed=7, options={"task_id": "test/small/0"})
    observation, reward, terminated, truncated, info = env.step("look")

Importing `agentgym_client` alone imports no gymnasium. Gymnasium before 1.0 loads the entry point
`gymnasium.envs`, and with it the ids, by itself; later ones need the import above, or its name in the id:
`agentgym_client.gymnasium:agentgym/ALFWorld-v0`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentgym_client.errors import EnvInfrastructureError
from agentgym_envs.registry import REGISTRY, describe

if TYPE_CHECKING:
    from agentgym_client.gymnasium.environment import AgentGymEnv
    from agentgym_client.gymnasium.vector import AgentGymVectorEnv

__all__ = [
    "AgentGymEnv",
    "AgentGymVectorEnv",
    "EnvInfrastructureError",
    "environment_ids",
    "register_environments",
]

NAMESPACE = "agentgym"
ENTRY_POINT = "agentgym_client.gymnasium.environment:AgentGymEnv"
VECTOR_ENTRY_POINT = "agentgym_client.gymnasium.vector:AgentGymVectorEnv"


def environment_ids() -> dict[str, str]:
    """Gymnasium's ids and the names of the environments behind them; imports none of them.

    An id has the name of the environment's class: `agentgym/ALFWorld-v0` is `alfworld`.
    """
    ids: dict[str, str] = {}
    for entry in sorted(describe(), key=lambda entry: entry.name not in REGISTRY):
        wanted = f"{NAMESPACE}/{entry.target.rpartition(':')[2]}-v0"
        # A class of another distribution may have the same name as one of ours.
        ids[wanted if wanted not in ids else f"{NAMESPACE}/{entry.name}-v0"] = entry.name
    return ids


def register_environments() -> None:
    """Register all ids with Gymnasium; existing ones are not changed."""
    from gymnasium.envs import registration

    # Its signature has a `dict` of anything.
    register: Callable[..., None] = registration.register  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for gymnasium_id, name in environment_ids().items():
        if gymnasium_id not in registration.registry:
            entry_points = {"entry_point": ENTRY_POINT, "vector_entry_point": VECTOR_ENTRY_POINT}
            register(gymnasium_id, **entry_points, kwargs={"env_name": name})


def __getattr__(name: str) -> object:
    # Imported lazily: old versions of Gymnasium import this module before their own import is complete.
    if name == "AgentGymEnv":
        from agentgym_client.gymnasium.environment import AgentGymEnv

        return AgentGymEnv
    if name == "AgentGymVectorEnv":
        from agentgym_client.gymnasium.vector import AgentGymVectorEnv

        return AgentGymVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_environments()
