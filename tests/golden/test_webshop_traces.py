"""Episodes of the original WebShop, action by action: what is shown, what may be clicked, and the address."""

import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop import pages
from agentgym_envs.webshop.products import cleaned
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def shop(shared_data: Path) -> Shop:
    rows = json.loads((shared_data / "webshop" / "items_shuffle_1000.reconstructed.json").read_text())
    return Shop(MemoryCatalogue(cleaned(rows)))


def replayed(shop: Shop, trace: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What is told of each step, here and there. A purchase earns what it earned there."""
    state, reward, steps = State(), 0.0, trace["steps"]
    session, instruction = steps[0]["url"].removeprefix("/"), trace["goal"]["instruction_text"]
    for step in steps:
        after = None if step["action"] is None else shop.step(state, step["action"])
        if after is not None:
            state = after
            reward = step["reward"] if state.page == "done" else reward
        ours = {
            "observation": pages.plain(shop, state, instruction, reward),
            "observation_rich": pages.rich(shop, state, instruction, session, reward),
            "available_actions": {
                "has_search_bar": state.page == "index",
                "clickables": list(shop.clickables(state)),
            },
            "url": pages.url(state, session),
            "done": after is not None and state.page == "done",
        }
        yield ours, {name: step[name] for name in ours}


def test_episodes_are_replayed_page_for_page(
    shop: Shop, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted((shared / "golden" / "webshop").glob("traces_*.jsonl.xz"))
    assert paths, "there is no file of episodes"
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            traces = [json.loads(line) for line in file]
        states = 0
        for trace in traces:
            for ours, theirs in replayed(shop, trace):
                assert ours == theirs
                states += 1
        assert states, f"{path} has no episodes"
        with capsys.disabled():
            sys.stdout.write(f"\n{path.name}: {len(traces)} episodes, {states} states equal\n")
