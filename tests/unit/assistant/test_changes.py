"""Net change of an episode."""

import json

import pytest

from agentgym_envs.assistant import Assistant, catalogue
from agentgym_envs.assistant.database import NetChange, Office

MAIL = "INSERT INTO email(folder, sender, subject, body, sent_at) VALUES ('sent', ?, ?, ?, ?)"
NOTHING = NetChange({}, Office(catalogue.office(7).image).net_change().inserted)


def change(*statements: tuple[str, tuple[str | int | float | None, ...]]) -> NetChange:
    """The net change of statements in an office."""
    office = Office(catalogue.office(7).image)
    for sql, values in statements:
        office.write(sql, *values)
    return office.net_change()


def test_an_update_has_the_old_and_the_new_row() -> None:
    office = Office(catalogue.office(7).image)
    before: int = office.value("SELECT is_favorite FROM project WHERE id = 1")
    name: str = office.value("SELECT name FROM project WHERE id = 1")
    found = change(("UPDATE project SET is_favorite = ? WHERE id = 1", (1 - before,)))
    assert found.changed == {("project", (1,)): ((1, name, before), (1, name, 1 - before))}
    assert not found.inserted


@pytest.mark.parametrize(
    "statements",
    [
        [("INSERT INTO project(name) VALUES ('p')", ()), ("DELETE FROM project WHERE name = 'p'", ())],
        [
            ("UPDATE project SET name = name || '!' WHERE id = 1", ()),
            ("UPDATE project SET name = substr(name, 1, length(name) - 1) WHERE id = 1", ()),
        ],
        [("UPDATE shop_order SET price = price * 1.0", ())],
        [("UPDATE todo SET title = ' ' || title || '  ' WHERE id = 3", ())],
        [("UPDATE contact SET email = upper(email) WHERE id = 1", ())],
        [("UPDATE event SET start = replace(start, 'T', ' ') || ':00' WHERE id = 1", ())],
    ],
)
def test_what_is_undone_or_means_the_same_is_no_change(
    statements: list[tuple[str, tuple[str | int | float | None, ...]]],
) -> None:
    assert change(*statements) == NOTHING


def test_what_is_not_undone_is_a_change() -> None:
    assert change(("UPDATE todo SET priority = 9 WHERE id = 1", ())) != NOTHING
    assert change(("UPDATE todo SET title = upper(title) WHERE id = 3", ())) != NOTHING


def test_ids_and_the_order_of_new_rows_have_no_meaning() -> None:
    to = "INSERT INTO email_to(email_id, addr) SELECT max(id), ? FROM email"
    first = (MAIL, ("a@b", "one", "x", "2026-03-02T09:00")), (to, ("One@b",))
    second = (MAIL, ("a@b", "two", "y", "2026-03-02T09:00")), (to, ("two@b",))
    assert change(*first, *second) == change(*second, *first)
    assert change(*first) != change(*second)
    mixed = change(first[0], (to, ("two@b",)), second[0], (to, ("one@b",)))
    assert mixed != change(*first, *second)  # the same rows, but another mail for each address


def test_a_row_twice_is_not_a_row_once() -> None:
    once = (MAIL, ("a@b", "one", "x", "2026-03-02T09:00"))
    assert change(once) != change(once, once)


def test_reading_is_no_change() -> None:
    office = Office(catalogue.office(7).image)
    office.rows("SELECT * FROM email")
    assert not office.net_change()


def test_rows_whose_keys_differ_by_white_space_are_different_rows() -> None:
    world = Assistant(all_tools=True)
    task = next(one for one in world.tasks("train", "conditional") if one.kind == "sheet_totals")
    for sheet, reward in ((" expenses  ", 0.0), ("expenses", 1.0)):
        world.reset(task, 0)
        result = None
        for action in world.expert(task):
            made = json.loads(action)
            if made["name"] == "write_cells":
                made["arguments"]["sheet"] = sheet
            result = world.step(json.dumps(made))
        assert result is not None
        assert result.reward == reward
