"""Calls, their results as text, and states as values."""

from decimal import Decimal
from typing import Any

import pytest
from support.bfcl import make

from agentgym_envs.bfcl import limits
from agentgym_envs.bfcl.limits import MAX_DEPTH, bounded_tree, check_numbers
from agentgym_envs.bfcl.world import World, plain, rendered
from agentgym_envs.tooluse import CallError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ({"a": [1, 2.5, None, True], "b": "é"}, '{"a": [1, 2.5, null, true], "b": "\\u00e9"}'),
        ({"a": Decimal("1.5")}, "{'a': Decimal('1.5')}"),
        ({"a": {1}}, "{'a': {1}}"),
        ([{"a": 1}], "[{'a': 1}]"),
        (None, "None"),
        (3.0, "3.0"),
    ],
)
def test_results_are_rendered_as_upstream(value: object, text: str) -> None:
    assert rendered(value) == text


def test_an_exception_of_a_function_is_a_result() -> None:
    world = World(("TicketAPI",), {}, False, make)
    assert world.call("TicketAPI", "get_ticket", {"ticket_id": 3}) == "Error during execution: 3"
    assert world.call("TicketAPI", "get_ticket", {}).startswith(
        "Error during execution: TicketAPI.get_ticket()"
    )


def test_a_set_in_an_error_is_sorted() -> None:
    class Travels:
        def book(self) -> object:
            return {"error": "Invalid class. Must be one of {'first', 'economy'}", "note": "{'b', 'a'}"}

    world = World(("TicketAPI",), {}, False, lambda owner, config, long_context: Travels())
    assert world.call("TicketAPI", "book", {}) == (
        "{\"error\": \"Invalid class. Must be one of {'economy', 'first'}\", \"note\": \"{'b', 'a'}\"}"
    )


def test_a_state_is_not_changed_by_later_calls() -> None:
    world = World(("TicketAPI",), {"TicketAPI": {"tickets": {"1": "open"}}}, False, make)
    before, copy = world.state(), world.copy()
    world.call("TicketAPI", "close_ticket", {"ticket_id": 1})
    assert before == copy.state() == {"TicketAPI": {"tickets": {1: "open"}}}
    assert world.state() == {"TicketAPI": {"tickets": {1: "closed"}}}


def test_arguments_are_not_shared_with_the_state() -> None:
    class Lists:
        def keep(self, items: list[int]) -> None:
            self.items = items

    world = World(("TicketAPI",), {}, False, lambda owner, config, long_context: Lists())
    items = [1]
    world.call("TicketAPI", "keep", {"items": items})
    items.append(2)
    assert world.state() == {"TicketAPI": {"items": [1]}}


class Folder:
    """A folder as the wheel has it."""

    def __init__(self, name: str, parent: "Folder | None" = None) -> None:
        self.name, self.parent = name, parent
        self.contents: dict[str, Any] = {}

    def add(self, name: str) -> "Folder":
        self.contents[name] = Folder(name, self)
        return self.contents[name]


class File:
    def __init__(self, name: str, content: str) -> None:
        self.name, self.content, self._last_modified = name, content, object()


class Tree:
    def __init__(self) -> None:
        self.root = self._current_dir = Folder("root")


def test_a_tree_is_compared_by_names_and_contents() -> None:
    one, other = Folder("a"), Folder("a", Folder("elsewhere"))
    one.contents = {"f": File("f", "text"), "g": Folder("g")}
    other.contents = {"g": Folder("g"), "f": File("f", "text")}
    assert plain(one) == plain(other)
    assert plain(one) == ("folder", "a", {"f": ("file", "f", "text"), "g": ("folder", "g", {})})
    other.contents["f"].content = "other"
    assert plain(one) != plain(other)


def test_a_tree_may_grow_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_NODES", 3)
    tree = Tree()
    for name in "abc":
        with bounded_tree(tree):
            tree.root.add(name)
    with pytest.raises(CallError) as refused, bounded_tree(tree):
        tree.root.add("d")
    assert (refused.value.code, list(tree.root.contents)) == ("limit", ["a", "b", "c"])


def test_a_tree_that_would_contain_itself_is_undone() -> None:
    tree = Tree()
    inner = tree.root.add("a").add("b")
    with pytest.raises(CallError), bounded_tree(tree):
        inner.contents["a"] = tree.root.contents["a"]
    assert plain(tree.root) == ("folder", "root", {"a": ("folder", "a", {"b": ("folder", "b", {})})})


def test_a_tree_has_a_greatest_depth_where_its_root_does_not_hold_it_too() -> None:
    tree = Tree()
    tree._current_dir = tree.root.add("a")
    del tree.root.contents["a"]
    depth = 1
    with pytest.raises(CallError):  # noqa: PT012 - which of the calls is refused is the question
        while True:
            with bounded_tree(tree):
                tree._current_dir = tree._current_dir.add("x")
            depth += 1
    assert depth == MAX_DEPTH - 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"base": 2, "exponent": 1000},
        {"number": -1e100, "precision": 50},
        {"number": 2.5, "decimal_places": -50},
        {"numbers": [1, 2.5]},
        {"unit_in": "km"},
    ],
)
def test_numbers_within_the_bounds_are_calculated_with(arguments: dict[str, Any]) -> None:
    check_numbers(arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"base": 9, "exponent": 1001}, "exponent"),
        ({"base": 9, "exponent": -1000.5}, "exponent"),
        ({"number": 2, "precision": 51}, "precision"),
        ({"number": 5, "decimal_places": -(10**9)}, "decimal_places"),
        ({"a": 1, "b": 1.1e100}, "b"),
        ({"numbers": [1, -(10**101)]}, "numbers"),
    ],
)
def test_numbers_beyond_them_are_refused(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(CallError) as refused:
        check_numbers(arguments)
    assert (refused.value.code, refused.value.argument) == ("limit", name)
