"""WebSocket `/mcp`: JSON-RPC frames over one session, which the first call starts."""

from agentgym_server.dialects.json_rpc import INVALID_REQUEST
from agentgym_server.dialects.openenv.rpc import Rpc, RpcFault, error_reply, fault_of
from agentgym_server.dialects.openenv.sessions import OpenEnvSession
from agentgym_server.dialects.openenv.socket import Socket
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem


class RpcSocket(Socket):
    """Connection to `/mcp`."""

    async def answer(self, env_session: OpenEnvSession, text: str) -> bytes:
        """See `Socket.answer`."""
        try:
            self.bucket.take()
        except Problem as problem:
            return self.refused(problem)
        rpc = Rpc(self.env_sessions, self.env)
        return strict_json.dump(await self.inbox.awaiting(rpc.answer_text(text, env_session)))

    def refused(self, problem: Problem) -> bytes:
        """See `Socket.refused`."""
        return strict_json.dump(error_reply(None, fault_of(problem)))

    @property
    def binary(self) -> bytes:
        """See `Socket.binary`."""
        return strict_json.dump(error_reply(None, RpcFault(INVALID_REQUEST, "frames must be text")))
