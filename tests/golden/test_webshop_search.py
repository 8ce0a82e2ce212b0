"""Searches of the real WebShop, whose engine is Lucene: terms, numbers of hits, and their order."""

import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgym_envs.search import ranking
from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop import nouns
from agentgym_envs.webshop.catalogues.stored import About, write
from agentgym_envs.webshop.products import cleaned

pytestmark = pytest.mark.golden

Search = Callable[[str], list[tuple[str, float]]]
PAGE = 10
FIRST_PAGES, WHOLE = 0.999, 0.995
"""Shares that are to be the same in their order: near-ties are decided by the last bit of a sum."""


@pytest.fixture(params=["in memory", "stored", "stored, leaving out"])
def search(
    request: pytest.FixtureRequest, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Search:
    rows = json.loads((shared_data / "webshop" / "items_shuffle_1000.reconstructed.json").read_text())
    products = cleaned(rows)
    if request.param == "in memory":
        return Index.of({product.asin: product.index_text for product in products}).search
    if request.param != "stored":
        monkeypatch.setattr(ranking, "PLAIN", 0)
    about = About(name="1k", nouns=nouns.NAME, settings={})
    stored = write(tmp_path / "1k", about, products, lambda product: product.prices[0], {})
    asins = sorted(stored.products)
    return lambda text: [(asins[place], score) for place, score in stored.index.search(text)]


def test_searches_find_what_lucene_finds(
    search: Search, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted((shared / "golden" / "webshop").glob("search_*.jsonl.xz"))
    assert paths, "there is no file of searches"
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        assert records, f"{path} has no searches"
        first = whole = 0
        for record in records:
            assert analyzed(record["query"]) == record["tokens"], record["query"]
            hits = search(record["query"])
            assert len(hits) == record["total"], record["query"]
            names, expected = [name for name, _ in hits], [name for name, _ in record["hits"]]
            first += names[:PAGE] == expected[:PAGE]
            whole += names == expected
            for (_, score), (_, told) in zip(hits, record["hits"], strict=True):
                assert score == pytest.approx(told, abs=1e-3)
        with capsys.disabled():
            found = f"{len(records)} searches, {first} first pages and {whole} whole lists are equal"
            sys.stdout.write(f"\n{path.name}: {found}\n")
        assert first >= FIRST_PAGES * len(records)
        assert whole >= WHOLE * len(records)
