"""A crafter: an inventory and the commands that change it, with TextCraft's texts.

> Crafter(book).do("get 2 ash log")
'Got 2 ash log'
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from agentgym_envs.textcraft.recipes import Recipe, RecipeBook, text_of

MOST: Final = 10_000
"""Items of one command."""
_GET = re.compile(r"get (\d{1,9}) (.+)")
_CRAFT = re.compile(r"craft (?:(\d{1,9}) )?(.+) using (.+)")
_INPUT = re.compile(r"(\d{1,9}) (.+)")


class Crafter:
    """Inventory of an episode. `strict` counts an input that is named twice as both together; AgentGym's
    server does not.
    """

    def __init__(
        self, book: RecipeBook, held: Mapping[str, int] | None = None, *, strict: bool = True
    ) -> None:
        self._book, self._strict = book, strict
        self.held: dict[str, int] = dict(held or {})
        """Number of each item, in the order in which they were first acquired."""
        self.made = ""
        """Item of the last command that crafted or got one; empty otherwise."""
        self.failed = False
        """True if the last command could not be executed."""

    def do(self, command: str) -> str:
        """Execute a command; the observation."""
        self.made, self.failed = "", False
        if found := _CRAFT.match(command):
            return self._craft(found[1], found[2].strip(), found[3])
        if found := _GET.match(command):
            return self._get(int(found[1]), found[2].strip())
        if command.startswith("inventory"):
            return self.listed
        return self._refused(f"Could not execute {command}")

    @property
    def listed(self) -> str:
        """The inventory in words."""
        told = "".join(f"[{text_of(name)}] ({count}) " for name, count in self.held.items())
        return f"Inventory: {told or 'You are not carrying anything.'}"

    def _get(self, count: int, text: str) -> str:
        name = self._book.named.get(text)
        if name is None or name not in self._book.base or count > MOST or (self._strict and not count):
            return self._refused(f"Could not find {text}")
        self._add(name, count)
        self.made = name
        return f"Got {count} {text}"

    def _craft(self, count: str | None, text: str, listed: str) -> str:
        output, inputs = self._id(text), list[tuple[str, int]]()
        for part in (one.strip() for one in listed.split(",")):
            found = _INPUT.fullmatch(part)
            if found is None:
                return self._refused(f"Wrong item format: {part}")
            inputs.append((self._id(found[2].strip()), int(found[1])))
        inputs = _summed(inputs) if self._strict else inputs
        if any(self.held.get(name, 0) < number or number > MOST for name, number in inputs):
            return self._refused(f"Could not find enough items to craft {output}")
        recipe = self._matching(output, inputs)
        if recipe is None:
            return self._refused(f"Could not find a valid recipe for {count or 1} {output}")
        for name, number in inputs:
            self._add(name, -number)
        self._add(output, recipe.count)
        self.made = output
        return f"Crafted {recipe.count} {output}"

    def _matching(self, output: str, inputs: list[tuple[str, int]]) -> Recipe | None:
        """The first recipe of the output that takes exactly these inputs."""
        return next((one for one in self._book.of.get(output, ()) if self._takes(one, inputs)), None)

    def _takes(self, recipe: Recipe, inputs: list[tuple[str, int]]) -> bool:
        """True if each ingredient has an input of its own with its count: the item, or one of its class."""
        if len(inputs) != len(recipe.inputs):
            return False
        left = list(inputs)
        for one in sorted(recipe.inputs, key=lambda one: self._book.has_class(one.name)):
            chosen = next(
                (given for given in left if given[1] == one.count and self._is(given[0], one.name)), None
            )
            if chosen is None:
                return False
            left.remove(chosen)
        return True

    def _is(self, item: str, wanted: str) -> bool:
        return item == wanted or wanted in self._book.classes_of.get(item, ())

    def _id(self, text: str) -> str:
        """The item of a text, or what its id would be."""
        namespace = next(iter(self._book.of)).partition(":")[0]
        return self._book.named.get(text, f"{namespace}:{text.replace(' ', '_')}")

    def _add(self, name: str, count: int) -> None:
        """Add a number of an item, which is left out at 0."""
        self.held[name] = self.held.get(name, 0) + count
        if not self.held[name] and count < 0:
            del self.held[name]

    def _refused(self, text: str) -> str:
        self.failed = True
        return text


def _summed(inputs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    found = dict[str, int]()
    for name, number in inputs:
        found[name] = found.get(name, 0) + number
    return list(found.items())
