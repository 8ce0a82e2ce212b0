"""Records of a file in whatever JSON it is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_store.errors import StoreError
from agentgym_store.imports import reading
from agentgym_store.imports.reading import Refusal, first_record, records
from agentgym_store.imports.registry import detected

VALUES = [{"a": 1, "b": "é\u2028]"}, {"a": [1, {"c": "}"}]}, {"a": None}]


def read(path: Path, text: str | bytes) -> list[tuple[str, Any]]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(records(path))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n".join(map(json.dumps, VALUES)), "line"),
        ("\n\n".join(json.dumps(one, ensure_ascii=False) for one in VALUES) + "\n", "line"),
        (json.dumps(VALUES), "record"),
        ("  [\n" + ",\n".join(json.dumps(one, indent=1) for one in VALUES) + "\n]\n", "record"),
        ("\n".join(json.dumps(one, indent=2) for one in VALUES), "record"),
        ("\ufeff" + json.dumps(VALUES), "record"),
        ("\ufeff" + "\n".join(map(json.dumps, VALUES)), "line"),
    ],
)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_lines_an_array_and_objects_over_several_lines_are_the_same(
    text: str, place: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "record":
        monkeypatch.setattr(reading._Buffer, "PIECE", piece)
    found = read(tmp_path / "f.json", text)
    assert [value for _, value in found] == VALUES
    assert found[0][0] == f"f.json, {place} 1"


@given(values=st.lists(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=9)), max_size=6))
def test_any_array_is_read_in_pieces(values: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("array") / "f.json"
    assert [value for _, value in read(path, json.dumps(values, indent=1))] == values


def test_a_line_that_is_not_json_is_refused_and_the_next_ones_are_read(tmp_path: Path) -> None:
    found = read(tmp_path / "f.jsonl", b'{"a": 1}\n{"a": \n{"a": NaN}\n\xff\n{"a": 2}\n')
    assert [place for place, _ in found] == [f"f.jsonl, line {number}" for number in range(1, 6)]
    values = [value.reason if isinstance(value, Refusal) else value for _, value in found]
    assert values == [{"a": 1}, "not JSON", "not JSON", "not JSON", {"a": 2}]
    assert first_record(tmp_path / "f.jsonl") == {"a": 1}


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": ', '[{"a": 1} {"b"]', '[{"a": 1}, nothing]'])
def test_an_array_that_is_broken_is_an_error_with_the_place(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(StoreError, match=r"f\.json, record 2 is not JSON") as error:
        list(records(tmp_path / "f.json"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "holds no record"),
        (b"[]", "holds no record"),
        (b"\x00\xff\xfe", "is neither JSON nor Parquet nor a text in UTF-8"),
        (b"PAR1 is not all that Parquet needs", "cannot read"),
        (
            b'{"something": "else"}\n',
            "the first record is in no known format; name its format, one of: jsonl,",
        ),
        (b"just a text\n", "the first record is in no known format"),
    ],
)
def test_a_file_that_is_no_data_set_is_one_line(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(StoreError, match=message) as error:
        detected(tmp_path / "f")
    assert "\n" not in str(error.value)


def test_what_is_too_long_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 100)
    monkeypatch.setattr(reading, "TEXT_LIMIT", 100)
    (tmp_path / "f.jsonl").write_text('{"a": 1}\n{"a": "' + "x" * 200)
    with pytest.raises(StoreError, match="line 2: longer than 100 bytes"):
        list(records(tmp_path / "f.jsonl"))
    (tmp_path / "f.txt").write_text("x" * 101)
    with pytest.raises(StoreError, match="longer than 100 bytes"):
        list(records(tmp_path / "f.txt"))
