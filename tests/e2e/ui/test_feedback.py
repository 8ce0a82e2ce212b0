"""A rating, a preference and a correction by clicks and keys in Chromium, and a training that learns them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support.browser import CHROMIUM, FOLDER, needs_browser, served
from support.feedback import guess_table

from agentevol.ui.library import Library
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.table import FeedbackTable

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("feedback.mjs")
STEPS = 18
LEARNT = {
    "dpo": ("pairs_of_corrections", "pairs_of_comparisons"),
    "sft": ("corrected_actions",),
    "weighted_bc": ("weighted_episodes",),
    "kto": ("desirable",),
}
"""Algorithm -> what the clicks become, one of each."""


def clicked(base: str, key: str) -> list[dict[str, Any]]:
    """Reports of the browser."""
    pictures = os.environ.get("AGENTEVOL_UI_PICTURES")
    task = {
        "base": base,
        "chromium": CHROMIUM,
        "pictures": pictures,
        "action": "7",
        "reader": f"/episodes/{key}/one?id=a",
        "compare": f"/compare/episodes?{urlencode([('source', key), ('id', 'a'), ('id', 'c')])}",
        "list": f"/feedback/{key}",
    }
    command = ["node", str(SCRIPT), json.dumps(task)]
    environment = {**os.environ, "PLAYWRIGHT": f"{FOLDER}/"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def trained(table: Path, algorithm: str, *settings: str) -> dict[str, float]:
    """Metrics of a training on people's opinions."""
    command = [sys.executable, "-m", "agentevol", "train", str(table), f"algorithm={algorithm}"]
    command += ["feedback=human", "learn.threads=1", "--json", *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["metrics"]


@needs_browser
def test_from_clicks_to_changed_weights(tmp_path: Path) -> None:
    table, model = guess_table(tmp_path)
    key = Library([table.parent]).sources()[0].key
    with served(table.parent) as base:
        seen = clicked(base, key)
    steps = {one["name"]: one["value"] for one in seen}
    assert "error" not in steps, steps
    assert all(steps.values()), steps
    assert len(steps) == STEPS, steps
    found = {(one.source, one.kind, one.turn) for one in standing(FeedbackTable.beside(table).records())}
    assert found == {
        ("human:Anna", "score", None),
        ("human:Anna", "correction", 1),
        ("human:Anna", "comparison", None),
        ("human:Bob", "score", None),
    }
    before = (model / "model.safetensors").read_bytes()
    for algorithm, opinions in LEARNT.items():
        out = tmp_path / algorithm
        metrics = trained(table, algorithm, f"base={model}", "--out", str(out))
        assert {name: metrics[f"feedback_{name}"] for name in opinions} == dict.fromkeys(opinions, 1)
        assert (out / "model.safetensors").read_bytes() != before
