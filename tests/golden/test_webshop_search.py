"""Searches of the real WebShop, whose engine is Lucene: terms, numbers of hits, and their order."""

import json
import lzma
import sys
from pathlib import Path

import pytest

from agentgym_envs.webshop.products import cleaned
from agentgym_envs.webshop.search.analyzer import analyzed
from agentgym_envs.webshop.search.bm25 import Index

pytestmark = pytest.mark.golden

PAGE = 10
FIRST_PAGES, WHOLE = 0.995, 0.99
"""Shares that are to be the same in their order: near-ties are decided by the last bit of a sum."""


def test_searches_find_what_lucene_finds(
    shared: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads((shared_data / "webshop" / "items_shuffle_1000.reconstructed.json").read_text())
    index = Index.of({product.asin: product.index_text for product in cleaned(rows)})
    paths = sorted((shared / "golden" / "webshop").glob("search_*.jsonl.xz"))
    assert paths, "there is no file of searches"
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        assert records, f"{path} has no searches"
        first = whole = 0
        for record in records:
            assert analyzed(record["query"]) == record["tokens"], record["query"]
            hits = index.search(record["query"])
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
