"""Problem slugs: the table of the wire format, the documented additions to it, and nothing else."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym_server.wire.problems import KINDS, Problem

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "services").rglob("*.py"), *(ROOT / "agentevol" / "service").rglob("*.py")]
WIRE = {
    **dict.fromkeys(["invalid-json"], 400),
    **dict.fromkeys(["unauthorized"], 401),
    **dict.fromkeys(["forbidden-origin", "forbidden-scope"], 403),
    **dict.fromkeys(["not-found", "env-not-found", "task-not-found", "session-not-found"], 404),
    **dict.fromkeys(["method-not-allowed"], 405),
    **dict.fromkeys(["turn-conflict", "action-mismatch", "session-ended", "session-failed"], 409),
    **dict.fromkeys(["session-expired", "session-closed"], 410),
    **dict.fromkeys(["payload-too-large"], 413),
    **dict.fromkeys(["unsupported-media-type"], 415),
    **dict.fromkeys(["validation", "idempotency-key-reused"], 422),
    **dict.fromkeys(["too-many-in-flight"], 429),
    **dict.fromkeys(["internal"], 500),
    **dict.fromkeys(["unsupported-operation"], 501),
    **dict.fromkeys(["worker-lost"], 502),
    **dict.fromkeys(["capacity", "overloaded", "draining"], 503),
    **dict.fromkeys(["step-timeout"], 504),
}
"""Statuses by slug, as the wire format has them."""
ADDED = {
    "bad-request": 400,
    "request-timeout": 408,
    "out-of-turn": 409,
    "uri-too-long": 414,
    "rate-limited": 429,
    "head-too-large": 431,
    "partner": 502,
    "judge": 502,
    "verifier": 502,
    "partner-turn": 503,
    "unavailable": 503,
}
"""Situations for which the wire format has no slug; docs/serving.md lists them."""
COMPUTED = {"slug", "fault.kind", "f'session-{session.state}'"}
"""Slugs that are no literals: each is one of `KINDS`, or `Problem` raises `KeyError`."""
ROW = re.compile(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| (\d{3}) \|", re.MULTILINE)


def table(text: str) -> dict[str, int]:
    """Statuses by slug of a Markdown table."""
    return {
        slug: int(status) for slugs, status in ROW.findall(text) for slug in re.findall(r"[a-z-]+", slugs)
    }


def raised() -> Iterator[tuple[str, ast.expr]]:
    """The first argument of every `Problem(...)`, and where it stands."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.args[0]


def test_every_slug_is_one_of_the_wire_format_or_a_documented_addition():
    assert {slug: kind.status for slug, kind in KINDS.items()} == WIRE | ADDED
    assert not WIRE.keys() & ADDED.keys()


def test_every_problem_in_the_code_has_such_a_slug():
    found = dict(raised())
    assert len(found) > 50
    literal = {where: slug.value for where, slug in found.items() if isinstance(slug, ast.Constant)}
    assert {where: slug for where, slug in literal.items() if slug not in KINDS} == {}
    others = {ast.unparse(slug) for slug in found.values() if not isinstance(slug, ast.Constant)}
    assert others == COMPUTED


def test_no_slug_is_left_that_nothing_emits():
    strings = {
        node.value
        for path in SOURCES
        if path.name != "problems.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert KINDS.keys() - strings == set()


def test_the_documentation_lists_the_additions():
    assert table((ROOT / "docs" / "serving.md").read_text(encoding="utf-8")) == ADDED


def test_the_list_is_that_of_the_specification():
    shared = Path(os.environ.get("AGENTEVOL_SHARED", ROOT.parent / "shared"))
    wire = shared / "spec" / "wire.md"
    if not wire.exists():
        pytest.skip("the specification is not here")
    section = wire.read_text(encoding="utf-8").partition("## A.3")[2].partition("## A.4")[0]
    assert table(section) == WIRE


def test_an_unknown_slug_cannot_be_emitted():
    with pytest.raises(KeyError):
        Problem("nonsense", "")
