"""The costs of a catalogue are those of a real one, made, opened by other processes, and walked through."""

import json
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentevol.cli import app
from agentevol.cli.benchmarks.env.webshop.main import READERS, SIZES, Costs, described, measure
from agentevol.cli.benchmarks.env.webshop.reader import LONGEST, SHORTEST, queries
from agentgym_envs.webshop.catalogues.stored import StoredCatalogue


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Costs, Path]:
    folder = tmp_path_factory.mktemp("bench") / "catalogue"
    return measure(300, folder, processes=1, searches=40), folder


@pytest.fixture(scope="module")
def costs(measured: tuple[Costs, Path]) -> Costs:
    return measured[0]


def test_every_cost_is_measured(costs: Costs):
    assert costs.products == 300
    assert 0 < costs.generated_s < costs.written_s
    assert 0 < costs.p50_ms <= costs.p99_ms
    assert costs.searches_per_s > 0
    assert costs.open_s > 0
    assert costs.step_ms > 0
    assert 500 < costs.session_bytes < 4000


def test_memory_is_of_all_readers_and_shared_pages_count_once(costs: Costs):
    if costs.resident_mb is None or costs.all_mb is None or costs.before_mb is None:
        pytest.skip("the system does not tell what processes share")
    assert costs.before_mb < costs.resident_mb < costs.all_mb < READERS * costs.resident_mb
    assert costs.further_mb is not None
    assert 0 < costs.further_mb < costs.resident_mb


def test_queries_are_short_and_mostly_found(measured: tuple[Costs, Path]):
    catalogue = StoredCatalogue.open(measured[1])
    asked = list(queries(catalogue, 60))
    assert asked == list(queries(catalogue, 60))
    assert {len(query.split()) for query in asked} <= set(range(1, LONGEST + 1))
    assert sum(len(query.split()) >= SHORTEST for query in asked) > 55
    assert sum(bool(catalogue.search(query)) for query in asked) > 55


def test_a_cost_above_its_budget_is_said_to_be(costs: Costs):
    assert "5 s: kept" in described(replace(costs, open_s=4.9))
    missed = described(replace(costs, open_s=6.0, resident_mb=1001.0, further_mb=31.0))
    assert missed.count("MISSED") == 3
    assert "resident" not in described(replace(costs, resident_mb=None, further_mb=None))


def test_the_command_measures_as_many_products_as_it_is_told(costs: Costs, monkeypatch: pytest.MonkeyPatch):
    asked = []
    module = import_module(
        "agentevol.cli.benchmarks.env.webshop.main"
    )  # its name in the package is the function's
    monkeypatch.setattr(module, "measure", lambda count, _: asked.append(count) or costs)
    told = CliRunner().invoke(app, ["bench", "env", "--env", "webshop", "--products", "500", "--json"])
    assert (told.exit_code, asked) == (0, [500])
    assert json.loads(told.output)["figures"] == [asdict(costs)]
    told = CliRunner().invoke(app, ["bench", "env", "--env", "webshop"])
    assert (told.exit_code, asked) == (0, [500, *SIZES])
    refused = CliRunner().invoke(app, ["bench", "store", "--products", "500"])
    assert "No such option: --products" in refused.output
    refused = CliRunner().invoke(app, ["bench", "env", "--products", "500"])
    assert "--products is an option of --env webshop" in refused.output
