"""The server keeps its OpenAPI document: schemathesis sends what fits it and what does not, and judges.

All its checks run but `use_after_free`: a session that was closed still says how it ended. Left alone, it
would hardly ever name an environment, a task or a session that exists, and 404 would be the answer to
everything: `aim` points what is well-formed at something real, and leaves alone what is wrong on purpose.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from schemathesis import Case
from schemathesis.core.failures import FailureGroup
from support.server.environments import Echo

from agentgym_envs.guess import Guess
from agentgym_server import ServerSettings, create_app
from agentgym_server.lanes.openapi import REQUEST_HEADERS
from agentgym_server.lanes.replies import ENV_PATTERN, SESSION_PATTERN

TASKS = {"echo": "train/0", "guess": "guess-1"}
ENVS = itertools.cycle(TASKS)
KEYS = itertools.count()
INTEGERS = ("turn", "at_turn", "seed", "max_turns")
KEY_PATTERN = REQUEST_HEADERS["Idempotency-Key"]["pattern"]
BEARER = {"Authorization": "Bearer top"}


def schema_of(**more: Any) -> Any:
    """The document of a server in this process, ready to be held against it."""
    server = ServerSettings(allowed_hosts=("testserver",), max_sessions=100_000, **more)
    app = create_app({"echo": Echo, "guess": Guess}, settings=server)
    loaded = schemathesis.openapi.from_asgi("/openapi.json", app, headers=BEARER)
    checks = loaded.config.checks
    checks.use_after_free.enabled = False
    for check in (checks.positive_data_acceptance, checks.negative_data_rejection):
        check.expected_statuses = [*check.expected_statuses, "410"]  # the session was closed meanwhile
    return loaded


schema = schema_of()
guarded = schema_of(token="top")
guarded.config.phases.coverage.enabled = False  # the same requests as without a token
at_random = schema_of()
at_random.config.phases.coverage.enabled = False  # the same requests every time: once is enough
answered: Counter[tuple[str, int]] = Counter()
"""Replies by operation and status."""


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same requests whatever ran before: Hypothesis also draws constants of ours, of all modules that any
    test has imported, and keeps them.
    """
    monkeypatch.setattr(providers, "_get_local_constants", providers.Constants)
    monkeypatch.setitem(globals(), "ENVS", itertools.cycle(TASKS))
    providers.CONSTANTS_CACHE.cache.clear()
    yield
    providers.CONSTANTS_CACHE.cache.clear()


def aim(case: Case) -> None:
    """Replace well-formed names of nothing by names of something."""
    path, query, headers = case.path_parameters, case.query, case.headers
    if re.fullmatch(ENV_PATTERN, str(path.get("env"))):
        path["env"] = next(ENVS)
    if isinstance(case.body, dict):
        case.body = {name: aimed(name, value, path.get("env")) for name, value in case.body.items()}
        # Environments differ in their seats, too: a number that none of these has is refused.
        if isinstance(seats := case.body.get("seats"), int | float) and 2 <= seats <= 64:
            del case.body["seats"]
    if isinstance(query.get("split"), str):
        query["split"] = ("train", "test")[len(query["split"]) % 2]
    # Environments differ in their difficulties: no schema of the parameter can list them.
    if isinstance(query.get("difficulty"), str):
        del query["difficulty"]
    if isinstance(query.get("task_id"), str) and path.get("env") in TASKS:
        query["task_id"] = TASKS[path["env"]]
    # A key that came before with another body is refused, as it must be.
    if re.fullmatch(KEY_PATTERN, str(headers.get("Idempotency-Key"))):
        headers["Idempotency-Key"] = f"key {next(KEYS)}"


def aimed(name: str, value: Any, env: str | None) -> Any:
    """A member of a body: a task that there is, and integers as the wire format knows them.

    JSON Schema calls 1.0 an integer, the wire format does not, and no document can say so.
    """
    if name == "task_id" and isinstance(value, str) and 0 < len(value) <= 256:
        return TASKS.get(str(env), value)
    if name in INTEGERS and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def aim_at_session(case: Case) -> None:
    """Name a session of one turn, and a turn that was played, is next, or is too far."""
    if not re.fullmatch(SESSION_PATTERN, str(case.path_parameters.get("session_id"))):
        return
    body, env = case.body, next(ENVS)
    create, step = schema["/envs/{env}/sessions"]["POST"], schema["/sessions/{session_id}/steps"]["POST"]
    made = create.Case(path_parameters={"env": env}, body={"task_id": TASKS[env]}).call().json()
    session = {"session_id": made["session_id"]}
    step.Case(path_parameters=session, body={"turn": 1, "action": "say"}).call()
    case.path_parameters.update(session)
    if isinstance(body, dict) and type(body.get("turn")) is int and 0 < body["turn"] < 2**31:
        body["turn"] = (2, 2, 1, 3)[body["turn"] % 4]


def bounded(examples: int, **more: Any) -> settings:
    """So many requests of a kind, however slow the machine."""
    checks = list(HealthCheck)
    return settings(max_examples=examples, deadline=None, database=None, suppress_health_check=checks, **more)


def judge(case: Case) -> None:
    """Send a request and hold its reply against the document."""
    aim(case)
    aim_at_session(case)
    response = case.call()
    answered[case.operation.label, response.status_code] += 1
    case.validate_response(response)


@pytest.mark.usefixtures("repeatable")
@schema.parametrize()
@bounded(40, derandomize=True)
def test_every_reply_is_as_the_document_says(case: Case):
    judge(case)


def test_the_requests_reached_something_real():
    operations = {operation.ok().label for operation in schema.get_all_operations()}
    if {operation for operation, _ in answered} != operations:
        pytest.skip("counts the replies of the test above, all of it")
    assert {operation for operation, status in answered if status in (200, 201)} == operations
    assert {status for _, status in answered} == {200, 201, 204, 400, 404, 405, 409, 415, 422}


@pytest.mark.slow
@at_random.parametrize()
@bounded(300)
def test_every_reply_is_as_the_document_says_whatever_is_sent(case: Case):
    judge(case)


@pytest.mark.usefixtures("repeatable")
@guarded.parametrize()
@bounded(3, derandomize=True)
def test_no_operation_forgets_to_ask_for_a_token(case: Case):
    case.call_and_validate(headers=BEARER)


class Episodes(schema.as_state_machine()):
    """Follows the document's links: a task becomes a session, which is stepped, forked, and closed."""

    def before_call(self, case: Case) -> None:
        aim(case)

    def after_call(self, response: Any, case: Case) -> None:
        followed[case.operation.label, response.status_code] += 1


followed: Counter[tuple[str, int]] = Counter()


@pytest.mark.usefixtures("repeatable")
def test_episodes_by_following_the_links():
    Episodes.run(settings=bounded(60, stateful_step_count=10, derandomize=True))
    assert followed["POST /sessions/{session_id}/steps", 200] > 0
    assert followed["POST /sessions/{session_id}/fork", 201] > 0


@pytest.mark.slow
def test_many_episodes_by_following_the_links():
    Episodes.run(settings=bounded(200, stateful_step_count=20))


@pytest.mark.parametrize(
    "change",
    [
        lambda responses: responses.pop("200"),
        lambda responses: responses["200"].update(content={"text/html": {}}),
        lambda responses: responses["200"]["headers"].update(Missing={"required": True, "schema": {}}),
        lambda responses: responses["200"]["content"]["application/json"].update(schema={"required": ["no"]}),
    ],
    ids=["status", "content type", "header", "body"],
)
def test_the_judge_notices_a_reply_that_is_not_in_the_document(change: Any):
    document = create_app({"echo": Echo}).openapi()
    change(document["paths"]["/health"]["get"]["responses"])
    changed = schemathesis.openapi.from_dict(document)
    changed.app = schema.app
    with pytest.raises(FailureGroup):
        changed["/health"]["GET"].Case().call_and_validate()


def test_the_judge_notices_an_operation_that_asks_for_no_token():
    careless = schemathesis.openapi.from_dict(guarded.raw_schema)
    careless.app = schema.app  # the same server without a token
    with pytest.raises(FailureGroup):
        careless["/envs"]["GET"].Case().call_and_validate(headers=BEARER)
