"""WebSocket `/ws`: typed frames, answered in order.

> {"type": "reset", "data": {"task_id": "test/0"}}
< {"type": "observation", "data": {"observation": {"text": "...", ...}, "reward": 0.0, "done": false, ...}}
> {"type": "step", "data": {"text": "look"}}
< {"type": "observation", "data": {...}}
"""

from collections.abc import Callable, Coroutine
from typing import Any, cast
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from agentgym_server.dialects.openenv import models, tools, views
from agentgym_server.dialects.openenv.errors import Refusal, invalid_message, refusal, refusal_at_connect
from agentgym_server.dialects.openenv.inbox import Gone
from agentgym_server.dialects.openenv.models import Invalid, parsed
from agentgym_server.dialects.openenv.rpc import Rpc
from agentgym_server.dialects.openenv.sessions import OpenEnvSession, OpenEnvSessions
from agentgym_server.dialects.openenv.socket import Farewell, Socket
from agentgym_server.service import Service
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped, internal_problem
from agentgym_server.wire.reply import Reply

Frame = dict[str, Any]
Handler = Callable[[OpenEnvSession, Frame], Coroutine[Any, Any, bytes]]


class EpisodeSocket(Socket):
    """Connection to `/ws`."""

    def __init__(
        self,
        service: Service,
        env_sessions: OpenEnvSessions,
        env: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        super().__init__(service, env_sessions, env, scope, receive, send)
        self._rpc = Rpc(env_sessions, env)
        self._handlers: dict[str, Handler] = {
            "step": self._step,
            "reset": self._reset,
            "state": self._state,
            "mcp": self._mcp,
            "close": self._close,
        }

    async def attach(self) -> OpenEnvSession:
        """See `Socket.attach`; `?session_id=` attaches to an existing session."""
        query = parse_qsl(self.scope["query_string"].decode("latin-1"), errors="replace")
        named = dict(query).get("session_id")
        if named is None:
            return await super().attach()
        env_session = self.env_sessions.find(self.env, named)
        if env_session.attached:
            text = f"Session {clipped(named)} already has an attached WebSocket"
            raise Farewell(Refusal("SESSION_ERROR", text).frame)
        env_session.attached = True
        return env_session

    def refused(self, problem: Problem) -> bytes:
        """See `Socket.refused`."""
        environment = self.service.catalogue.of(self.env).environment
        return refusal_at_connect(problem, type(environment).__name__).frame

    @property
    def binary(self) -> bytes:
        """See `Socket.binary`."""
        return Refusal("SESSION_ERROR", "frames must be text").frame

    async def answer(self, env_session: OpenEnvSession, text: str) -> bytes:
        """See `Socket.answer`."""
        try:
            self.bucket.take()
            return await self._handled(env_session, _parsed(text))
        except (Farewell, Gone):
            raise
        except Refusal as told:
            return told.frame
        except Invalid as cause:
            return invalid_message(cause).frame
        except Problem as problem:
            return _told(refusal(problem))
        except Exception as cause:  # noqa: BLE001 - a bug in the server; the log has its details
            return refusal(internal_problem(cause)).frame

    async def _handled(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        kind = frame.get("type", "")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise Refusal("UNKNOWN_TYPE", f"Unknown message type: {clipped(str(kind))}")
        return await handler(env_session, frame)

    async def _step(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        text = _plain_text(frame)
        if text is None:
            data = parsed(models.StepMessage, frame).data
            action = models.parsed_action(data, tools.offered(env_session))
            if not isinstance(action, models.TextAction):
                return _observed(await self.inbox.awaiting(tools.act(env_session, action)))
            text = action.text
        reply = env_session.step(env_session.written(text))
        if not isinstance(reply, Reply):
            reply = await self.inbox.awaiting(reply)
        return _observed(views.played(views.read(reply)))

    async def _reset(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        options = parsed(models.ResetOptions, parsed(models.ResetMessage, frame).data)
        return _observed(
            views.played(await self.inbox.awaiting(self.env_sessions.reset(env_session, options)))
        )

    async def _state(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        parsed(models.StateMessage, frame)
        return strict_json.dump({"type": "state", "data": env_session.state()})

    async def _mcp(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        request = parsed(models.RpcMessage, frame).data
        reply = await self.inbox.awaiting(self._rpc.answer(request, env_session))
        return strict_json.dump({"type": "mcp", "data": reply})

    async def _close(self, env_session: OpenEnvSession, frame: Frame) -> bytes:
        parsed(models.CloseMessage, frame)
        raise Farewell(None)


def _parsed(text: str) -> Frame:
    try:
        frame = strict_json.parse_text(text)
    except strict_json.InvalidJson as cause:
        raise Refusal("INVALID_JSON", f"Invalid JSON: {cause}") from None
    if not isinstance(frame, dict):
        raise Farewell(Refusal("SESSION_ERROR", "a frame must be a JSON object").frame)
    return cast("Frame", frame)


def _plain_text(frame: Frame) -> str | None:
    """The text of a step with no other fields (the common case, which needs no model); else None."""
    data = frame.get("data")
    if len(frame) != 2 or not isinstance(data, dict):
        return None
    members = cast("Frame", data)
    text = members.get("text")
    return text if len(members) == 1 and isinstance(text, str) else None


def _observed(data: Frame) -> bytes:
    return strict_json.dump({"type": "observation", "data": data})


def _told(told: Refusal) -> bytes:
    if told.code == "SESSION_ERROR":
        raise Farewell(told.frame)
    return told.frame
