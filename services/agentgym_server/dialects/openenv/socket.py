"""WebSocket connection of the OpenEnv dialect: one session, strict request and reply."""

from abc import ABC, abstractmethod
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from agentgym_server.dialects.openenv.inbox import Gone, Inbox
from agentgym_server.dialects.openenv.sessions import OpenEnvSession, OpenEnvSessions
from agentgym_server.lanes.limits import Bucket
from agentgym_server.service import Service
from agentgym_server.wire.problems import Problem

NORMAL_CLOSURE = 1000
UNSUPPORTED_DATA = 1003


class Farewell(Exception):
    """Request to close the connection, after one more frame if there is one."""

    def __init__(self, frame: bytes | None, code: int = NORMAL_CLOSURE) -> None:
        super().__init__(code)
        self.frame = frame
        self.code = code


class Socket(ABC):
    """Base of connections; subclasses define the messages."""

    def __init__(
        self,
        service: Service,
        env_sessions: OpenEnvSessions,
        env: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        self.service = service
        self.env_sessions = env_sessions
        self.env = env
        self.scope = scope
        self.bucket: Bucket = scope["agentevol.bucket"]
        self.inbox = Inbox(receive)
        self._receive = receive
        self._send = send

    @abstractmethod
    async def answer(self, env_session: OpenEnvSession, text: str) -> bytes:
        """The reply to a frame; raises `Farewell`."""

    @abstractmethod
    def refused(self, problem: Problem) -> bytes:
        """The frame for a connection without a session."""

    @property
    @abstractmethod
    def binary(self) -> bytes:
        """The frame in reply to a binary frame."""

    async def attach(self) -> OpenEnvSession:
        """The connection's OpenEnv session; raises `Farewell`, or the problem that prevents one."""
        return await self.inbox.awaiting(self.env_sessions.reserve(self.env))

    async def run(self) -> None:
        """Accept the connection and serve it until it closes."""
        await self._receive()  # the connect message
        await self._send({"type": "websocket.accept"})
        self.service.metrics.connections += 1
        try:
            with suppress(Gone, OSError):
                await self._serve()
        finally:
            self.service.metrics.connections -= 1
            self.inbox.close()

    async def _serve(self) -> None:
        try:
            try:
                env_session = await self.attach()
            except Problem as problem:
                raise Farewell(self.refused(problem)) from None
            try:
                await self._converse(env_session)
            finally:
                self.env_sessions.leave(env_session)
        except Farewell as farewell:
            if farewell.frame is not None:
                await self._say(farewell.frame)
            await self._send({"type": "websocket.close", "code": farewell.code})

    async def _converse(self, env_session: OpenEnvSession) -> None:
        while True:
            text = await self.inbox.next()
            if text is None:
                raise Farewell(self.binary, UNSUPPORTED_DATA)
            await self._say(await self.answer(env_session, text))

    async def _say(self, text: bytes) -> None:
        await self._send({"type": "websocket.send", "text": text.decode()})
