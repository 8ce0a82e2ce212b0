"""JSON-RPC of the OpenEnv dialect: four methods over POST, a separate socket, or frames of the main socket.

    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_projects", "arguments": {}}}
    {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "[]"}], "data": [], ...}}

A call plays a turn of an episode and starts one where there is none: there is no reset. It shows no reward.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from agentgym_server.dialects.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from agentgym_server.dialects.openenv import tools, views
from agentgym_server.dialects.openenv.errors import Refusal, told
from agentgym_server.dialects.openenv.models import Invalid, ResetOptions, RpcRequest, parsed
from agentgym_server.dialects.openenv.sessions import FIXED, OpenEnvSession, OpenEnvSessions
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped, internal_problem

SERVER_ERROR = -32000


class RpcFault(Exception):
    """JSON-RPC error, raised by methods."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


Params = dict[str, Any]
Method = Callable[[Params, OpenEnvSession | None], Awaitable[dict[str, Any]]]


class Rpc:
    """JSON-RPC methods of one environment."""

    def __init__(self, env_sessions: OpenEnvSessions, env: str) -> None:
        self._env_sessions = env_sessions
        self._env = env
        self._methods: dict[str, Method] = {
            "tools/list": self._list,
            "tools/call": self._call,
            "openenv/session/create": self._create,
            "openenv/session/close": self._close,
        }

    async def answer_text(
        self, text: str | bytes, env_session: OpenEnvSession | None = None
    ) -> dict[str, Any]:
        """The response to a request in JSON text."""
        try:
            request = strict_json.parse_text(text) if isinstance(text, str) else strict_json.parse(text)
        except strict_json.InvalidJson as cause:
            return error_reply(None, RpcFault(PARSE_ERROR, f"Parse error: {cause}"))
        return await self.answer(request, env_session)

    async def answer(self, request: object, env_session: OpenEnvSession | None = None) -> dict[str, Any]:
        """The response to a request; `env_session` is the socket's, if it came over one."""
        try:
            call = parsed(RpcRequest, request)
        except Invalid as cause:
            where = ".".join(map(str, cause.errors[0]["loc"])) or "request"
            return error_reply(None, RpcFault(INVALID_REQUEST, f"Invalid request: {where}: {cause}"))
        try:
            method = self._methods.get(call.method)
            if method is None:
                raise RpcFault(METHOD_NOT_FOUND, f"Method not found: {clipped(call.method)}")
            return {"jsonrpc": "2.0", "id": call.id, "result": await method(call.params, env_session)}
        except RpcFault as fault:
            return error_reply(call.id, fault)
        except Problem as problem:
            return error_reply(call.id, fault_of(problem))
        except Refusal as cause:
            return error_reply(call.id, RpcFault(INTERNAL_ERROR, str(cause)))
        except Exception as cause:  # noqa: BLE001 - a bug in the server; the log has its details
            return error_reply(call.id, fault_of(internal_problem(cause)))

    async def _create(self, params: Params, env_session: OpenEnvSession | None) -> dict[str, Any]:
        if env_session is None:
            env_session, _ = await self._env_sessions.begin(self._env, _options(params))
        else:
            await self._play(env_session)
        return {"session_id": env_session.playing().id}

    async def _close(self, params: Params, env_session: OpenEnvSession | None) -> dict[str, Any]:
        session_id = _text(params, "session_id", "Invalid params - 'session_id' is required")
        named = self._find(session_id)
        if named is env_session:
            text = "Cannot close active WebSocket-managed session via MCP method"
            raise RpcFault(INVALID_REQUEST, text)
        if named.attached:
            named.closing = True
            return {"session_id": session_id, "closed": False, "closing": True}
        named.close()
        return {"session_id": session_id, "closed": True}

    async def _list(self, params: Params, env_session: OpenEnvSession | None) -> dict[str, Any]:
        async with self._env_session(params, env_session) as joined:
            cards = _offered(joined)
        return {
            "tools": [{"name": name, "description": text, "inputSchema": form} for name, text, form in cards]
        }

    async def _call(self, params: Params, env_session: OpenEnvSession | None) -> dict[str, Any]:
        name = _text(params, "name", "Missing 'name' in params")
        arguments: Any = params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise RpcFault(INVALID_PARAMS, "Invalid params - 'arguments' must be an object")
        async with self._env_session(params, env_session) as joined:
            self._check(_offered(joined), name, cast("Params", arguments))
            reply = await tools.call(joined, name, cast("Params", arguments))
        return {
            "content": [{"type": "text", "text": reply["observation"]}],
            "data": tools.result(reply),
            "isError": tools.failed(reply),
            "metadata": views.metadata_of(reply),
        }

    def _check(self, cards: list[tools.ToolCard], name: str, arguments: Params) -> None:
        card = next((card for card in cards if card.name == name), None)
        if card is None:
            raise RpcFault(INVALID_PARAMS, f"Tool not found: {clipped(name)}")
        wrong = tools.mistake(card, arguments, self._env_sessions.service.settings.max_action_chars)
        if wrong is not None:
            raise RpcFault(INVALID_PARAMS, f"Invalid params - {wrong}")

    @asynccontextmanager
    async def _env_session(
        self, params: Params, env_session: OpenEnvSession | None
    ) -> AsyncGenerator[OpenEnvSession]:
        """An OpenEnv session with an episode: the socket's, that of `session_id`, or a temporary one that
        closes with the request.
        """
        named = params.get("session_id")
        if env_session is None and named is not None:
            env_session = self._find(
                _text(params, "session_id", "Invalid params - 'session_id' must be a string")
            )
        if env_session is not None:
            await self._play(env_session)
            yield env_session
            return
        env_session, _ = await self._env_sessions.begin(self._env, FIXED)
        try:
            yield env_session
        finally:
            env_session.close()

    async def _play(self, env_session: OpenEnvSession) -> None:
        if env_session.session is None:
            await self._env_sessions.reset(env_session, ResetOptions())

    def _find(self, session_id: str) -> OpenEnvSession:
        try:
            return self._env_sessions.find(self._env, session_id)
        except Problem as problem:
            raise RpcFault(INVALID_PARAMS, problem.detail) from None


def error_reply(request_id: str | int | None, fault: RpcFault) -> dict[str, Any]:
    """The error response."""
    return {"jsonrpc": "2.0", "id": request_id, "error": fault.error}


def fault_of(problem: Problem) -> RpcFault:
    """A problem as a JSON-RPC error."""
    code = SERVER_ERROR if problem.status == 503 else INTERNAL_ERROR
    return RpcFault(code, problem.detail, told(problem) or None)


def _offered(env_session: OpenEnvSession) -> list[tools.ToolCard]:
    cards = tools.tools_of(env_session)
    if cards is None:
        raise RpcFault(INTERNAL_ERROR, "Environment does not support MCP")
    return cards


def _text(params: Params, name: str, message: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise RpcFault(INVALID_PARAMS, message)
    return value


def _options(params: Params) -> ResetOptions:
    try:
        return parsed(ResetOptions, params, "params")
    except Invalid as cause:
        raise RpcFault(INVALID_PARAMS, f"Invalid params - {cause}", {"errors": cause.errors}) from None
