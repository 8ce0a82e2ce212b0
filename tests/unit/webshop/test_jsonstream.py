"""JSON in pieces: the same values as reading it whole, wherever a chunk ends, and errors that say where."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.webshop.catalogues.stored import CatalogueError
from agentgym_envs.webshop.official import jsonstream
from agentgym_envs.webshop.official.jsonstream import items, members

TRICKY = [
    {"name": 'a "quoted" \\ back\\\\slash', "path": "Home › Garden", "emoji": "👩‍🔧", "escaped": "\u2028]},"},
    "]",
    "}{",
    "",
    12,
    -0.5e-7,
    1e10,
    True,
    None,
    [],
    {},
    [[["\\"]]],
    "😀",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "given.json"


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8, 13, 1000])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_tricky_values_are_the_same_wherever_chunks_end(
    file: Path, chunk: int, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(TRICKY, ensure_ascii=ascii_only, indent=indent)
    file.write_text(f"\r\n {text}\t\n", encoding="utf-8" if chunk > 2 else "utf-8-sig", newline="")
    assert list(items(file, chunk)) == TRICKY
    named = {str(value): value for value in TRICKY}
    file.write_text(json.dumps(named, ensure_ascii=ascii_only, indent=indent), encoding="utf-8")
    assert dict(members(file, chunk)) == named


@settings(max_examples=150, deadline=None)
@given(st.lists(values), st.integers(1, 40), st.sampled_from([None, 0, 2]))
def test_any_list_is_read_as_json_reads_it(
    file: Path, listed: list[Any], chunk: int, indent: int | None
) -> None:
    text = json.dumps(listed, indent=indent, ensure_ascii=len(listed) % 2 == 0)
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        expected = json.loads(file.read_bytes())
    except UnicodeDecodeError:
        with pytest.raises(CatalogueError, match="is not UTF-8"):
            list(items(file, chunk))
    else:
        assert list(items(file, chunk)) == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(values, min_size=1, max_size=3), st.data())
def test_what_json_refuses_is_refused_and_nothing_else(file: Path, listed: list[Any], data: Any) -> None:
    text = json.dumps(listed)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(["", *'[]{},:"\\0 -e.']))
    changed = text[:at] + other + text[at + 1 :]
    file.write_text(changed, encoding="utf-8")
    try:
        expected = json.loads(changed)
    except ValueError:
        expected = None
    if isinstance(expected, list):
        assert list(items(file, 3)) == expected
    else:
        with pytest.raises(CatalogueError, match=r"given\.json is (no|not valid) JSON"):
            list(items(file, 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON list: it is empty"),
        (" \n", "is no JSON list: it is empty"),
        ('{"a": 1}', "is no JSON list: it begins with '{'"),
        ("12", "is no JSON list: it begins with '1'"),
        ("[1, 2", "is not valid JSON: expecting one of ,] at character 6"),
        ("[1, 2,", "is not valid JSON: Expecting value at character 7"),
        ("[1, 2,]", "is not valid JSON: Expecting value at character 7"),
        ("[1 2]", "is not valid JSON: expecting one of ,] at character 4"),
        ("[1] 2", "is not valid JSON: there is more after its end at character 5"),
        ('[{"a": "b]', "is not valid JSON: Unterminated string starting at at character 8"),
        ("[" + "7" * 5000 + "]", "is not valid JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_list_is_refused_with_its_place(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(CatalogueError) as error:
        list(items(file, 4))
    assert str(error.value).startswith(f"{file} {message}")


def test_what_is_no_object_is_refused(file: Path) -> None:
    for text, message in (
        ("[1]", "is no JSON object"),
        ("{1: 2}", "a name is no text"),
        ('{"a" 2}', "one of :"),
    ):
        file.write_text(text)
        with pytest.raises(CatalogueError, match=message):
            list(members(file, 2))


def test_items_before_a_mistake_are_given(file: Path) -> None:
    file.write_text("[1, [2], !")
    found = items(file)
    assert [next(found), next(found)] == [1, [2]]
    with pytest.raises(CatalogueError, match="at character 10"):
        next(found)


def test_bytes_that_are_no_utf_8_are_refused(file: Path) -> None:
    file.write_bytes(b'["a", "\xff"]')
    with pytest.raises(CatalogueError, match=r"given\.json is not UTF-8: invalid start byte"):
        list(items(file, 2))


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a": '])
def test_endless_nesting_is_refused_before_it_is_read(file: Path, opening: str) -> None:
    with file.open("w") as out:
        for _ in range(64):
            out.write(opening * (1 << 18))
    tracemalloc.start()
    with pytest.raises(CatalogueError, match=r"(nested too deeply|is no JSON list)"):
        list(items(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20  # of 16 to 112 MiB: some chunks


def test_a_text_without_an_end_is_refused_before_it_is_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonstream, "LONGEST", 1000)
    file.write_text('["' + "a" * 100_000)
    with pytest.raises(
        CatalogueError, match=r"Unterminated string.*or a piece has more than 1,000 characters"
    ):
        list(items(file, 100))
    file.write_text('["' + "a" * 900 + '"]')
    assert list(items(file, 100)) == ["a" * 900]


def test_no_more_than_a_piece_is_in_memory(file: Path) -> None:
    row = json.dumps({"asin": "B0", "text": "x" * 5000})
    with file.open("w") as out:
        out.write("[" + ",".join([row] * 8000) + "]")
    tracemalloc.start()
    assert sum(1 for _ in items(file)) == 8000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert file.stat().st_size > 40_000_000
    assert peak < 8 << 20
