"""The judge service keeps its OpenAPI document: schemathesis sends what fits it and what does not."""

from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from support.judging import Fixed, log_of
from support.sotopia_profiles import LAMP, scene_of

from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.judges.rules import RuleJudge
from agentevol.data.judgements.panel import Panel
from agentevol.service.judge.app import application
from agentevol.service.judge.service import JudgeService
from agentevol.service.judge.settings import JudgeSettings
from agentgym_server.settings import ServerSettings

answered: Counter[tuple[str, int]] = Counter()
"""Replies by operation and status."""
RECORD = {
    **{"format": "sotopia-conversation/1", "task_id": "sotopia/0", "seed": 0, "order": "round-robin"},
    **{
        "scenario": "lamp",
        "agents": ["ana", "bo"],
        "names": ["Ana Reed", "Bo Lind"],
        "judge_background": "b",
    },
    **{"log": [[["speak", "Hello."], ["none", ""]]], "end_reasons": [], "status": "unjudged"},
}
WHOLE = {
    "episode": log_of("e", "Hello."),
    "record": RECORD,
    "scene": scene_of(LAMP).model_dump(mode="json"),
}
"""Members that the document calls objects, and the service reads by their own rules."""
LAX = ("samples", "seed", "seat", "low", "high")
"""Integers, which JSON Schema also calls 1.0, and the service does not."""


def schema_of(**more: Any) -> Any:
    """The document of a service in this process, ready to be held against it."""
    server = ServerSettings(allowed_hosts=("testserver",), **more)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # A service belongs to an event loop, and each request of schemathesis has one of its own.
        panel = Panel([RuleJudge(Conversations()), Fixed()])
        await application(JudgeService(panel, JudgeSettings(server=server)))(scope, receive, send)

    return schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Authorization": "Bearer top"})


schema = schema_of()
guarded = schema_of(token="top")
guarded.config.phases.coverage.enabled = False  # the same requests as without a token


def aim(value: Any) -> Any:
    """The value with integers where it has floats without a fraction, and with what no schema can demand:
    ranges, names that occur once, whole profiles and records.
    """
    if isinstance(value, list):
        return [aim(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: aim(one) for name, one in value.items()}
    found |= {
        name: int(found[name])
        for name in LAX
        if isinstance(one := found.get(name), float) and one == one // 1
    }
    if all(type(found.get(name)) is int and -1000 <= found[name] <= 1000 for name in ("low", "high")):
        found["low"], found["high"] = -1000 if found["low"] == 1000 else found["low"], 1000
    if isinstance(own := found.get("dimensions"), list) and 0 < len(own) <= 32:
        found["dimensions"] = own[:1]
    whole = {name: one for name, one in WHOLE.items() if isinstance(found.get(name), dict)}
    if isinstance(names := found.get("judges"), list) and names:
        del found["judges"]
    return found | whole


def bounded(examples: int, **more: Any) -> settings:
    checks = list(HealthCheck)
    return settings(max_examples=examples, deadline=None, database=None, suppress_health_check=checks, **more)


@pytest.mark.slow
@schema.parametrize()
@bounded(25, derandomize=True)
def test_every_reply_is_as_the_document_says(case: Case) -> None:
    case.body = aim(case.body)
    response = case.call()
    answered[case.operation.label, response.status_code] += 1
    case.validate_response(response)


@pytest.mark.slow
def test_the_requests_reached_something_real() -> None:
    operations = {operation.ok().label for operation in schema.get_all_operations()}
    if {operation for operation, _ in answered} != operations:
        pytest.skip("counts the replies of the test above, all of it")
    assert {operation for operation, status in answered if status == 200} == operations
    assert {400, 405, 415, 422} <= {status for _, status in answered}


@guarded.parametrize()
@bounded(3, derandomize=True)
def test_no_operation_forgets_to_ask_for_a_token(case: Case) -> None:
    case.body = aim(case.body)
    case.call_and_validate(headers={"Authorization": "Bearer top"})
