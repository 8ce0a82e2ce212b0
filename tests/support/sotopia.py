"""Requests and an endpoint for tests of the package `sotopia`."""

import json
import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import pytest

from agentgym_envs.sotopia.package.client import INTERPRETER, PackageEngine
from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.protocol.actions import Action, ActionType
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene

PIECES = (
    *("", " ", "  ", "\n", "\n    ", "\t", ".", ";", "--", "...", '"', "''", "\\", "\\n", "%s", "{}", "%"),
    *("hello", "I can pay $40", "Turn #3", "said:", "did not do anything", "left the conversation"),
    *("{agent}", "{history}", "{turn_number}", "{goal}", "{0}", "[action] waves", '{"action_type": "leave"}'),
    *("Conversation Starts:", "none", "Ünïcödé", "日本語", "🙂", "\u2028", "\u00a0", "\u200b", "\u0085"),
)
"""Parts of arguments. Not among them is what the package loses or changes: `<`, `>`, `&`, carriage returns
and other control characters, "did nothing", and the placeholders that it fills after a history.
"""
POLICIES: dict[str, dict[ActionType, int]] = {
    "talks": {"speak": 8, "non-verbal communication": 1, "action": 1},
    "varies": {"none": 2, "speak": 3, "non-verbal communication": 2, "action": 2},
    "quiet": {"none": 5, "speak": 1},
    "leaves": {"speak": 5, "leave": 1, "action": 1},
}
"""Weights of action types."""


def package_python() -> str:
    """The interpreter with the package, or a skipped test where none is named."""
    named = os.environ.get(INTERPRETER)
    if not named:
        pytest.skip(f"no interpreter with sotopia 0.1.5: set {INTERPRETER} (docs/sotopia.md)")
    return named


def package_engine() -> PackageEngine:
    """The package in its process; an interpreter that lacks it fails the test."""
    return PackageEngine(package_python())


def text(rng: Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randrange(7)))


def script(rng: Random) -> tuple[Action, ...]:
    """Up to 20 actions of one policy."""
    weights = POLICIES[rng.choice(("talks", *POLICIES))]
    kinds = rng.choices(list(weights), list(weights.values()), k=rng.randrange(21))
    return tuple(Action(action_type=kind, argument=text(rng)) for kind in kinds)


def judge_reply(rng: Random) -> str:
    """Scores of both agents, sometimes with agent_2 first, or in a wrapper."""
    entries = {
        agent: {one.name: [text(rng), rng.randint(one.low, one.high)] for one in SOTOPIA}
        for agent in rng.sample(("agent_1", "agent_2"), 2)
    }
    reply: dict[str, Any] = {"evaluations": entries}
    return json.dumps({"properties": reply} if rng.random() < 0.2 else reply, indent=rng.choice((None, 2)))


def request(rng: Random, scenes: Sequence[Scene], number: int) -> EpisodeRequest:
    """An episode of any order, limits and view, with a random script."""
    return EpisodeRequest(
        scene=rng.choice(scenes),
        script=(script(rng), script(rng)),
        judge_replies=(judge_reply(rng),),
        order=rng.choice(("round-robin", "round-robin", "simultaneous", "random")),
        max_turns=rng.choice((1, 2, 3, 7, 20, 20, 35)),
        max_stale=rng.choice((0, 1, 2, 2, 5)),
        seed=rng.randrange(2**32),
        view=rng.choice(("package", "package", "omniscient", "lite")),
        id=f"random-{number}",
        tag=rng.choice(("", "a tag")),
    )


def scene(**changed: Any) -> Scene:
    """A scene of two strangers; `changed` are fields of the environment."""
    fields = {"scenario": "A market.", "agent_goals": ("Sell the bread", "Buy the bread"), **changed}
    ana = AgentProfile(pk="a", first_name="Ana", last_name="Reed", age=41, gender="Woman", secret="None.")
    bo = AgentProfile(pk="b", first_name="Bo", last_name="Lind", age=30, gender="Man", secret="A debt.")
    return Scene(environment=EnvironmentProfile(pk="e", **fields), agents=(ana, bo))


def say(*utterances: str) -> tuple[Action, ...]:
    return tuple(Action(action_type="speak", argument=one) for one in utterances)


def as_json(action: Action) -> str:
    """The reply of a model that wants this action."""
    return json.dumps({"action_type": action.action_type, "argument": action.argument})


class Endpoint:
    """OpenAI-compatible endpoint with scripted replies by model; keeps the bodies of requests."""

    def __init__(self, replies: dict[str, Sequence[str]], failing: Sequence[str] = ()) -> None:
        self.replies = {model: list(texts) for model, texts in replies.items()}
        self.failing = failing
        """Models that answer with status 400, which no client tries again."""
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.url = ""

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and content of a reply."""
        self.bodies.append(body)
        model = body["model"]
        if model in self.failing or not self.replies[model]:
            return 400, {"error": {"message": f"{model} is out of order", "type": "invalid", "code": "400"}}
        message = {"role": "assistant", "content": self.replies[model].pop(0)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "x", "object": "chat.completion", "created": 0, "model": model}
        return 200, {**whole, "choices": [choice], "usage": usage}


@contextmanager
def served(endpoint: Endpoint) -> Generator[Endpoint]:
    """The endpoint on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            endpoint.keys.add(self.headers.get("authorization"))
            status, content = endpoint.answer(
                json.loads(self.rfile.read(int(self.headers["content-length"])))
            )
            raw = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002  the base's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
