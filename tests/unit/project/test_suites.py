"""Unit tests are quick: none of them is marked as slow."""

from pathlib import Path

UNIT = Path(__file__).resolve().parents[1]


def test_no_unit_test_is_marked_as_slow() -> None:
    marked = [path.name for path in UNIT.rglob("test_*.py") if "mark." + "slow" in path.read_text("utf-8")]
    assert marked == []
