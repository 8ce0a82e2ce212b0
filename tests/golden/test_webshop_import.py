"""Importing the real files: the same products and goals as the original has, in its order."""

import json
import shutil
from pathlib import Path

import pytest

from agentgym_envs.webshop.catalogues.stored import StoredCatalogue
from agentgym_envs.webshop.official.importing import counts, import_official, verify
from agentgym_envs.webshop.official.jsonstream import items, members
from agentgym_envs.webshop.official.library import opened
from agentgym_envs.webshop.products import cleaned

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def source(shared: Path, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, with the prices that one start of the original drew."""
    folder = tmp_path_factory.mktemp("webshop")
    for path in (shared_data / "webshop").glob("items_*.json"):
        shutil.copy(path, folder)
    shutil.copy(shared / "golden" / "webshop" / "purchase_prices.json", folder)
    return folder


@pytest.fixture(scope="module")
def catalogue(source: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredCatalogue:
    home = tmp_path_factory.mktemp("home")
    report = import_official(source, home)
    assert report.counts == {"1k-synthetic-test": 500, "1k-synthetic-train": 6410, "1k-human-test": 13}
    assert (report.refused, report.warnings) == ((), ())
    assert (verify(home), counts(home)) == ([], report.counts)
    return opened(home, "1k")


def test_all_instructions_are_those_of_agentgym(catalogue: StoredCatalogue, shared_data: Path) -> None:
    expected = json.loads((shared_data / "webshop" / "agentgym_synthetic_goals_6910.json").read_text())
    wishes = catalogue.wishes("synthetic")
    assert [wish.goal.instruction for wish in wishes] == expected
    assert [wish.id for wish in wishes] == [str(number) for number in range(6910)]


def test_products_are_those_of_the_file(catalogue: StoredCatalogue, source: Path) -> None:
    rows = json.loads((source / "items_shuffle_1000.reconstructed.json").read_text())
    annotations = json.loads((source / "items_ins_v2_1000.json").read_text())
    assert list(catalogue.products.values()) == cleaned(rows, annotations)


def test_prices_are_those_of_the_table(catalogue: StoredCatalogue, source: Path) -> None:
    table = json.loads((source / "purchase_prices.json").read_text())["synthetic"]
    assert len(table) == 93
    assert {asin: catalogue.price(asin) for asin in table} == table
    rest = [product for asin, product in catalogue.products.items() if asin not in table]
    assert all((catalogue.price(product.asin),) == product.prices for product in rest)
    assert catalogue.about.settings["prices"] == "table: synthetic"


def test_the_annotations_are_the_published_file(catalogue: StoredCatalogue) -> None:
    told = catalogue.about.settings["file of annotations"]
    assert told == "items_ins_v2_1000.json 22837ad99f3173712fc9cb1cce7de6b75fe90595 as published"


@pytest.mark.parametrize("chunk", [257, 4096, 1 << 20])
def test_a_file_read_in_pieces_is_the_file_read_whole(source: Path, chunk: int) -> None:
    path = source / "items_shuffle_1000.reconstructed.json"
    assert list(items(path, chunk)) == json.loads(path.read_text(encoding="utf-8"))
    path = source / "items_ins_v2_1000.json"
    assert dict(members(path, chunk)) == json.loads(path.read_text(encoding="utf-8"))
