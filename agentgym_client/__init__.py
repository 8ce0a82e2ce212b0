"""One client for all environments, over HTTP or in process.

    async with EnvClient("http://127.0.0.1:8000") as client:
        async with await client.open("alfworld", "train/0", seed=7) as session:
            print(session.observation.text)
            result = await session.step("look")

`EnvClient.sync(...)` is the same without `await`. Everything may be retried: creation carries a key, a step
its turn number. A full server is waited for. The public names are imported when they are used.
"""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_client.client import EnvClient, SyncEnvClient
    from agentgym_client.errors import EnvClientError, ServerProblem, TransportError
    from agentgym_client.records import EnvironmentInfo, TaskInfo, TaskPage
    from agentgym_client.session import Session
    from agentgym_client.sync import SyncSession
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "EnvClient": "agentgym_client.client:EnvClient",
            "EnvClientError": "agentgym_client.errors:EnvClientError",
            "EnvironmentInfo": "agentgym_client.records:EnvironmentInfo",
            "ServerProblem": "agentgym_client.errors:ServerProblem",
            "Session": "agentgym_client.session:Session",
            "SyncEnvClient": "agentgym_client.client:SyncEnvClient",
            "SyncSession": "agentgym_client.sync:SyncSession",
            "TaskInfo": "agentgym_client.records:TaskInfo",
            "TaskPage": "agentgym_client.records:TaskPage",
            "TransportError": "agentgym_client.errors:TransportError",
        },
    )

__all__ = [
    "EnvClient",
    "EnvClientError",
    "EnvironmentInfo",
    "ServerProblem",
    "Session",
    "SyncEnvClient",
    "SyncSession",
    "TaskInfo",
    "TaskPage",
    "TransportError",
]
