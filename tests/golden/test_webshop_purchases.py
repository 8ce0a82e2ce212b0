"""Purchases over imported data: what they earn by the shop's own nouns of titles, beside what they earned."""

import json
import lzma
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.webshop.environment import WebShop
from agentgym_envs.webshop.official.importing import import_official

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def world(shared: Path, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> WebShop:
    """With the prices that one start of the original drew."""
    folder, home = (tmp_path_factory.mktemp(name) for name in ("files", "home"))
    for path in (shared_data / "webshop").glob("items_*.json"):
        shutil.copy(path, folder)
    shutil.copy(shared / "golden" / "webshop" / "purchase_prices.json", folder)
    import_official(folder, home)
    return WebShop(home=home)


def read(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def purchases(world: WebShop, trace: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is told of each purchase of an episode, here and there."""
    world.reset(world.task(f"1k-synthetic/{trace['goal_index']}"), seed=0)
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for step in trace["steps"][1:]:
        ours = world.step(step["action"])
        if step.get("purchase"):
            theirs = {"reward": step["reward"], **step["purchase"]["reward_info"]}
            told = {"reward": ours.reward, **ours.info["reward_parts"]}
            found.append(({name: told[name] for name in theirs}, theirs))
    return found


@pytest.mark.slow
def test_purchases_of_synthetic_goals_earn_what_they_earned(
    world: WebShop, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted((shared / "golden" / "webshop").glob("traces_*.jsonl.xz"))
    assert paths, "there is no file of episodes"
    for path in paths:
        traces = [trace for trace in read(path) if trace["mode"] == "synthetic"]
        found = [pair for trace in traces for pair in purchases(world, trace)]
        assert found, f"{path} has no purchase of a synthetic goal"
        assert [ours for ours, _ in found] == [theirs for _, theirs in found]
        with capsys.disabled():
            sys.stdout.write(
                f"\n{path.name}: {len(found)} purchases over imported data equal in every part\n"
            )
