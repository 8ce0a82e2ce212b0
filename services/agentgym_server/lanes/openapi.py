"""OpenAPI 3.1 document, made from the same table that routes requests."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from agentgym_server.lanes.endpoints import Endpoint
from agentgym_server.lanes.replies import ENV_PATTERN, SESSION_PATTERN, Problem
from agentgym_server.wire.problems import KINDS

Json = dict[str, Any]

REF = "#/components/schemas/{model}"
EVERYWHERE = (
    "unauthorized",
    "forbidden-origin",
    "forbidden-scope",
    "uri-too-long",
    "head-too-large",
    "rate-limited",
    "internal",
)
WITH_BODY = ("invalid-json", "payload-too-large", "unsupported-media-type", "request-timeout")
TEXT: Json = {"type": "string"}
PATH: dict[str, Json] = {
    "env": {"type": "string", "pattern": ENV_PATTERN},
    "session_id": {"type": "string", "pattern": SESSION_PATTERN},
}
QUERY: dict[str, Json] = {
    "split": {**TEXT, "description": "One of the environment's `splits`; all of them in order without it."},
    "difficulty": {**TEXT, "description": "One of the environment's `difficulties`."},
    "task_id": {**TEXT, "description": "List the task with this id alone."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    "history": {"type": "boolean", "default": False},
}
REQUEST_HEADERS: dict[str, Json] = {
    "Idempotency-Key": {
        "type": "string",
        "pattern": "^[!-~]([ -~]{0,126}[!-~])?$",
        "description": "The same key with the same body is carried out once; another body is refused.",
    },
    "Prefer": {**TEXT, "description": "`wait=N`: wait at most N seconds, up to 60, for a free slot."},
}
HEADERS: dict[str, Json] = {
    "X-Request-Id": {
        "description": "The caller's `X-Request-Id`, or one of the server's.",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
    },
    "Location": {
        "description": "The new session.",
        "required": True,
        "schema": {"type": "string", "pattern": "^/sessions/" + SESSION_PATTERN.removeprefix("^")},
    },
    "Retry-After": {
        "description": "Seconds.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
    "Cache-Control": {"required": True, "schema": {"const": "no-store"}},
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "pattern": "^Bearer "}},
    "Idempotent-Replay": {"description": "This reply was given before.", "schema": {"const": "true"}},
}
"""Headers of replies."""
REPEATABLE = ("create", "fork", "step")
"""Operations whose reply may be a repeated one."""
UNREADY = ("health", "ready")
"""Operations that respond 503 with their ordinary reply."""

OF_SESSION = {"session_id": "$response.body#/session_id"}
FIRST_STEP = {"turn": 1, "action": "look"}
LINKS: dict[str, dict[str, Json]] = {
    "environments": {
        "environment": {"parameters": {"env": "$response.body#/envs/0/env"}},
        "schema": {"parameters": {"env": "$response.body#/envs/0/env"}},
        "tasks": {"parameters": {"env": "$response.body#/envs/0/env"}},
    },
    "tasks": {
        "create": {
            "parameters": {"env": "$response.body#/env"},
            "requestBody": {"task_id": "$response.body#/tasks/0/task_id"},
        },
    },
    "create": {
        "step": {"parameters": OF_SESSION, "requestBody": FIRST_STEP},
        **{name: {"parameters": OF_SESSION} for name in ("fork", "lease", "get", "delete")},
    },
    "fork": {name: {"parameters": OF_SESSION} for name in ("get", "delete")},
    "step": {name: {"parameters": OF_SESSION} for name in ("fork", "lease", "get", "delete")},
}
"""Links of a success: by operation, the next operation and the location of its parameters."""


def document(
    title: str, version: str, endpoints: Iterable[Endpoint[Any]], *, authenticated: bool = False
) -> dict[str, Any]:
    """The whole document; `authenticated`: callers need a token."""
    endpoints = list(endpoints)
    replies = (endpoint.reply for endpoint in endpoints if endpoint.reply is not None)
    bodies = (endpoint.body for endpoint in endpoints if endpoint.body is not None)
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "validation") for model in (*bodies, *replies, Problem)
    ]
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        described = operation(endpoint)
        if authenticated and endpoint.open:
            described["security"] = [{"token": []}, {}]
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "headers": HEADERS,
            "schemas": models_json_schema(models, ref_template=REF)[1]["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if authenticated else [{"token": []}, {}],
    }


def operation(endpoint: Endpoint[Any]) -> dict[str, Any]:
    """One operation."""
    described: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.summary,
        "parameters": list(_parameters(endpoint)),
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        described["requestBody"] = {
            "required": not endpoint.body_optional,
            "content": _json(endpoint.body),
        }
    return described


def _parameters(endpoint: Endpoint[Any]) -> Iterable[Json]:
    for segment in endpoint.path.split("/"):
        if segment.startswith("{"):
            name = segment.strip("{}")
            yield {"name": name, "in": "path", "required": True, "schema": PATH[name]}
    for name in endpoint.query:
        yield {"name": name, "in": "query", "required": False, "schema": QUERY[name]}
    if endpoint.status == 201:
        for name, schema in REQUEST_HEADERS.items():
            yield {"name": name, "in": "header", "required": False, "schema": schema}


def _responses(endpoint: Endpoint[Any]) -> Json:
    responses: Json = {str(endpoint.status): _success(endpoint)}
    if endpoint.handler.__name__ in UNREADY:
        headers = _headers(endpoint, "Retry-After")
        content = responses["200"]["content"]
        responses["503"] = {"description": "Not to be used now", "headers": headers, "content": content}
    slugs = {*endpoint.problems, *EVERYWHERE, *(WITH_BODY if endpoint.body is not None else ())}
    for status in sorted({KINDS[slug].status for slug in slugs}):
        responses[str(status)] = _refusal(endpoint, status, slugs)
    return responses


def _success(endpoint: Endpoint[Any]) -> Json:
    name = endpoint.handler.__name__
    location = ("Location",) if endpoint.status == 201 else ()
    replay = ("Idempotent-Replay",) if name in REPEATABLE else ()
    links = {target: {"operationId": target, **link} for target, link in LINKS.get(name, {}).items()}
    text = {"text/plain": {"schema": TEXT}}
    return {
        "description": endpoint.summary,
        "headers": _headers(endpoint, *location, *replay),
        "content": text if endpoint.reply is None else _json(endpoint.reply),
        **({"links": links} if links else {}),
    }


def _refusal(endpoint: Endpoint[Any], status: int, slugs: Iterable[str]) -> Json:
    waiting = ("Retry-After",) if status in (429, 503) else ()
    challenge = ("WWW-Authenticate",) if status == 401 else ()
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _headers(endpoint, *waiting, *challenge),
        "content": _json(Problem, "application/problem+json"),
        "x-problems": sorted(slug for slug in slugs if KINDS[slug].status == status),
    }


def _headers(endpoint: Endpoint[Any], *names: str) -> Json:
    unstored = () if endpoint.stored else ("Cache-Control",)
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *unstored, *names)}


def _json(model: type[BaseModel], media_type: str = "application/json") -> Json:
    return {media_type: {"schema": {"$ref": REF.format(model=model.__name__)}}}
