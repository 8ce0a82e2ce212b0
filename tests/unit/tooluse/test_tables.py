"""Copy-on-write tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym_envs.tooluse.tables import Row, Table

BASE: dict[str, Row] = {"a": {"n": 1, "list": [1]}, "b": {"n": 2, "list": []}, "c": {"n": 3, "list": []}}


def test_edits_stay_in_the_episode() -> None:
    table = Table(BASE)
    table.edit("a")["list"].append(2)
    table.remove("b")
    table.add("d", {"n": 4})
    assert table.changes() == {"a": {"n": 1, "list": [1, 2]}, "d": {"n": 4}, "b": None}
    assert BASE["a"] == {"n": 1, "list": [1]}
    assert Table(BASE).changes() == {}


def test_an_edit_that_is_undone_is_no_change() -> None:
    table = Table(BASE)
    table.edit("a")["n"] = 5
    table.edit("a")["n"] = 1.0
    table.remove("b")
    table.add("b", {"n": 2, "list": []})
    table.add("d", {})
    table.remove("d")
    assert table.changes() == {}


def test_a_copy_goes_its_own_way() -> None:
    table = Table(BASE)
    table.edit("a")["n"] = 5
    copy = table.copy()
    copy.edit("a")["n"] = 6
    assert (table["a"]["n"], copy["a"]["n"]) == (5, 6)


def test_missing_and_doubled_keys_are_errors() -> None:
    table = Table(BASE)
    table.remove("a")
    for use in (table.remove, table.edit, table.__getitem__):
        with pytest.raises(KeyError):
            use("a")
    with pytest.raises(ValueError, match="there is a row 'b'"):
        table.add("b", {})


@given(
    st.lists(st.tuples(st.sampled_from(["add", "edit", "remove"]), st.sampled_from("abcde"), st.integers()))
)
def test_it_is_a_dictionary(steps: list[tuple[str, str, int]]) -> None:
    table, plain = Table(BASE), {key: dict(row) for key, row in BASE.items()}
    for step, key, number in steps:
        if step == "add" and key not in plain:
            plain[key] = {"n": number}
            table.add(key, {"n": number})
        elif step == "edit" and key in plain:
            plain[key]["n"] = number
            table.edit(key)["n"] = number
        elif step == "remove" and key in plain:
            del plain[key]
            table.remove(key)
        assert dict(table) == plain
        assert len(table) == len(plain)
    gone = {key: None for key in BASE if key not in plain}
    assert table.changes() == {key: row for key, row in plain.items() if BASE.get(key) != row} | gone
