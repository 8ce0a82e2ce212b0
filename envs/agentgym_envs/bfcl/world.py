"""The simulated APIs of one episode: calls on them, their results as text, and their states as values."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from typing import Any, Protocol, cast

from agentgym_envs.bfcl.apis import STATELESS, fresh, guarded
from agentgym_envs.bfcl.limits import (
    GROWING,
    bounded_tree,
    calculation,
    check_numbers,
    check_result,
)
from agentgym_envs.tooluse import CallError

State = dict[str, Any]
"""Public attributes by name, of plain values."""

SETS = re.compile(r"(?<=Must be one of )\{([^{}]*)\}")
"""A set in an error's text: its order differs between processes."""


class Maker(Protocol):
    """Function that makes an instance of a class, as `apis.fresh` does."""

    def __call__(self, owner: str, config: Mapping[str, Any], long_context: bool) -> Any:
        """A new instance."""
        ...


class World:
    """Instances of the classes of a task, which no other episode shares."""

    def __init__(
        self,
        classes: Sequence[str],
        config: Mapping[str, Mapping[str, Any]],
        long_context: bool,
        make: Maker = fresh,
    ) -> None:
        self.instances: dict[str, object] = {
            owner: make(owner, config.get(owner, {}), long_context) for owner in classes
        }

    def call(self, owner: str, name: str, arguments: Mapping[str, Any]) -> str:
        """The result of a function, as upstream's runner renders it: it is compared as text.

        `name` is a documented function: no other name gets here. Raises `CallError` beyond `limits`.
        """
        instance = self.instances[owner]
        with ExitStack() as around:
            around.enter_context(guarded(name))
            if owner == STATELESS:
                check_numbers(arguments)
                around.enter_context(calculation())
            elif name in GROWING:
                around.enter_context(bounded_tree(instance))
            text = _result(instance, name, deepcopy(dict(arguments)))
        check_result(text)
        return text

    def state(self) -> dict[str, State]:
        """The public attributes of each instance, as values that later calls do not change."""
        return {owner: _public(vars(instance)) for owner, instance in self.instances.items()}

    def copy(self) -> "World":
        """A world in the same state that later calls on this one do not change."""
        other = World((), {}, False)
        other.instances = deepcopy(self.instances)
        return other


def rendered(value: object) -> str:
    """A result as text: a text as it is, an object as JSON if it can be, others as Python writes them."""
    if type(value) is str:
        return value
    if type(value) is dict:
        try:
            return json.dumps(value)
        except (TypeError, ValueError):
            return str(cast("object", value))
    return str(value)


def plain(value: object) -> object:
    """A value of which no part is shared: a file is its name and text, a folder its name and contents."""
    if isinstance(value, dict):
        members = cast("dict[object, object]", value)
        return {key: plain(member) for key, member in members.items()}
    if isinstance(value, list):
        return [plain(item) for item in cast("list[object]", value)]
    if value is None or isinstance(value, str | int | float):
        return value
    contents = getattr(value, "contents", None)
    if contents is not None:
        return ("folder", cast("Any", value).name, plain(contents))
    content = getattr(value, "content", None)
    return deepcopy(value) if content is None else ("file", cast("Any", value).name, content)


def _public(attributes: Mapping[str, Any]) -> State:
    return {name: plain(value) for name, value in attributes.items() if not name.startswith("_")}


def _result(instance: Any, name: str, arguments: dict[str, Any]) -> str:
    try:
        return rendered(_ordered(getattr(instance, name)(**arguments)))
    except CallError:
        raise
    except Exception as cause:  # noqa: BLE001 - upstream's result for whatever a function raises
        return f"Error during execution: {cause}"


def _ordered(value: object) -> object:
    """A result whose error names a set in a fixed order."""
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        error = members.get("error")
        if isinstance(error, str) and SETS.search(error):
            return {**members, "error": SETS.sub(_sorted_set, error)}
    return cast("object", value)


def _sorted_set(found: re.Match[str]) -> str:
    return "{" + ", ".join(sorted(found.group(1).split(", "))) + "}"
