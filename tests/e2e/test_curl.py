"""docs/curl.md and the walk-through of docs/sotopia.md do what they say: their blocks run in bash."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.walkthrough import blocks, matches, printed_by, shown

from agentgym_envs.registry import lacking

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "curl.md"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("curl") and shutil.which("bash")), reason="the page needs curl and bash"
    ),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block after the first printed; the first is the server."""
    if needs := list(filter(None, map(lacking, shown(next(blocks(PAGE)))))):
        pytest.skip(f"the page shows an environment that cannot be imported: {needs[0]}")
    return printed_by(PAGE, tmp_path_factory.mktemp("home"))


def test_every_block_prints_what_the_page_says(printed: list[str]):
    _, *rest = blocks(PAGE)
    assert len(printed) == len(rest) >= 14
    for block, output in zip(rest, printed, strict=True):
        assert block.output is None or matches(block.output, output), output


def test_an_episode_of_sotopia_is_played_as_its_page_says(tmp_path: Path) -> None:
    page = DOCS / "sotopia.md"
    _, *rest = blocks(page)
    printed = printed_by(page, tmp_path)
    assert len(printed) == len(rest) == 2
    for block, output in zip(rest, printed, strict=True):
        assert block.output is not None
        assert matches(block.output, output), output


def test_an_episode_of_every_served_environment_is_won(printed: list[str]):
    ends = [reply for reply in replies(printed) if reply.get("terminated")]
    assert [reply["reward"] for reply in ends] == [1.0] * len(ends)
    counted = re.findall(r'finished_total{env="([^"]+)",outcome="terminated"} (\d+)', "".join(printed))
    assert {env for env, _ in counted} == set(shown(next(blocks(PAGE))))
    assert sum(int(number) for _, number in counted) == len(ends)


def replies(printed: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines."""
    for line in "".join(printed).splitlines():
        if line.startswith("{") and '"session_id"' in line:
            yield json.loads(line)


def test_the_comparison_notices_another_output():
    assert matches('{"turn":1,...}\n', '{"turn":1,"reward":0.0}\n')
    assert not matches('{"turn":1,...}\n', '{"turn":2,"reward":0.0}\n')
    assert not matches("healthy\n", "healthy\nand more\n")
