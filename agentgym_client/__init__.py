"""One client for all environments, over HTTP or in process.

    async with EnvClient("http://127.0.0.1:8000") as client:
        async with await client.open("alfworld", "train/0", seed=7) as session:
            print(session.observation.text)
            result = await session.step("look")

`EnvClient.sync(...)` is the same without `await`. Everything may be retried: creation carries a key, a step
its turn number. A full server is waited for.
"""

from agentgym_client.client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem, TransportError
from agentgym_client.records import EnvironmentInfo, TaskInfo, TaskPage
from agentgym_client.session import Session
from agentgym_client.sync import SyncEnvClient, SyncSession

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
