"""Recipe books: recipes in the schema of TextCraft's data, classes of items, depths.

    {"type": "workshop:crafting_shapeless", "group": "planks", "ingredients": [{"item": "workshop:ash_log"}],
     "result": {"item": "workshop:ash_planks", "count": 4}}

The loading rules are those of ADaPT's TextCraft (arXiv:2311.05772), in the order of the recipes' names.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Final, cast

SHAPED, SHAPELESS = "crafting_shaped", "crafting_shapeless"
BLOCK: Final = "_block"
"""End of the name of items that a single ingredient cannot be: they would be unpacked."""


class RecipeError(ValueError):
    """A recipe that cannot be read, in one line."""


@dataclass(frozen=True)
class Ingredient:
    """Input of a recipe: an item, or any one kind of a class."""

    name: str
    count: int
    is_class: bool = False


@dataclass(frozen=True)
class Recipe:
    """Inputs and output of a craft command."""

    output: str
    count: int
    inputs: tuple[Ingredient, ...]
    group: str = ""
    """Class of the output; empty without one."""

    @property
    def line(self) -> str:
        """The command that executes it, with names of classes where any member will do."""
        taken = ", ".join(f"{one.count} {text_of(one.name)}" for one in self.inputs)
        return f"craft {self.count} {text_of(self.output)} using {taken}"


class RecipeBook:
    """Recipes that make items from others, without a cycle."""

    def __init__(self, recipes: Iterable[Recipe]) -> None:
        self.recipes = tuple(_without_cycles(recipes))
        self.of: Mapping[str, tuple[Recipe, ...]] = _by_output(self.recipes)
        """Recipes by their output."""
        members = defaultdict[str, dict[str, None]](dict)
        for one in self.recipes:
            if one.group:
                members[one.group][one.output] = None
        self.members: Mapping[str, tuple[str, ...]] = {name: tuple(ones) for name, ones in members.items()}
        """Items by their class."""

    def has_class(self, name: str) -> bool:
        """True for a class with a member that can be crafted."""
        return name in self.members

    @cached_property
    def classes_of(self) -> Mapping[str, frozenset[str]]:
        """Classes by item."""
        found = defaultdict[str, set[str]](set)
        for name, items in self.members.items():
            for item in items:
                found[item].add(name)
        return {item: frozenset(names) for item, names in found.items()}

    @cached_property
    def base(self) -> frozenset[str]:
        """Items without a recipe; an ingredient class without a member is one, by its name."""
        taken = {one.name for recipe in self.recipes for one in recipe.inputs}
        return frozenset(name for name in taken if name not in self.of and not self.has_class(name))

    @cached_property
    def named(self) -> Mapping[str, str]:
        """Item or class by its text; of equal texts the first in the order of ids."""
        names = sorted({*self.of, *self.base, *self.members}, reverse=True)
        return {text_of(name): name for name in names}

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """Depth of each item: 0 of a base item, else one more than that of the deepest ingredient of its
        shallowest recipe.
        """
        found: dict[str, float] = dict.fromkeys(self.base, 0)
        changed = True
        while changed:
            changed = False
            for recipe in self.recipes:
                depth = 1 + max(self._depth(one, found) for one in recipe.inputs)
                if depth < found.get(recipe.output, inf):
                    found[recipe.output], changed = depth, True
        return {name: int(depth) for name, depth in found.items() if depth < inf}

    @cached_property
    def goals(self) -> tuple[str, ...]:
        """Items that can be crafted, by depth and name."""
        known = [name for name in self.of if self.depths.get(name, 0) >= 1]
        return tuple(sorted(known, key=lambda name: (self.depths[name], name)))

    def reachable(self, goal: str) -> list[Recipe]:
        """Recipes that the goal may need, down through its ingredients."""
        waiting, seen, found = [goal], {goal}, list[Recipe]()
        while waiting:
            name = waiting.pop()
            found += self.of.get(name, ())
            below = list(self.members.get(name, ()))
            below += [one.name for recipe in self.of.get(name, ()) for one in recipe.inputs]
            for other in below:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return found

    def _depth(self, one: Ingredient, known: Mapping[str, float]) -> float:
        names = self.members[one.name] if self.has_class(one.name) else (one.name,)
        return min(known.get(name, inf) for name in names)


def text_of(name: str) -> str:
    """An item or class in words: its id without the namespace."""
    return name.partition(":")[2].replace("_", " ") or name


def read(values: Iterable[tuple[str, Any]]) -> list[Recipe]:
    """Recipes of named JSON values, in the order of names; other types than crafting are left out.

    Raises `RecipeError` naming the first bad one.
    """
    found: list[Recipe] = []
    for name, value in sorted(values, key=lambda one: one[0]):
        try:
            recipe = _recipe(value)
        except (KeyError, TypeError, AttributeError, ValueError) as cause:
            raise RecipeError(f"{name}: no recipe: {type(cause).__name__}: {cause}") from cause
        if recipe is not None:
            found.append(recipe)
    return found


def _recipe(value: Any) -> Recipe | None:
    kind = str(value["type"]).rpartition(":")[2]
    if kind not in (SHAPED, SHAPELESS):
        return None
    result = value["result"]
    output, count = (result, 1) if isinstance(result, str) else (_id(result), int(result.get("count", 1)))
    inputs = _shaped(value) if kind == SHAPED else _summed((_named(one), 1) for one in value["ingredients"])
    if not inputs or count < 1:
        raise ValueError("it takes or makes nothing")
    if len(inputs) == 1 and inputs[0].name.endswith(BLOCK):
        return None
    namespace, group = output.partition(":")[0], str(value.get("group", ""))
    group = f"{namespace}:{group}" if group and ":" not in group else group
    return Recipe(output, count, inputs, "" if group == output else group)


def _shaped(value: Mapping[str, Any]) -> tuple[Ingredient, ...]:
    pattern = "".join(value["pattern"])
    keys = cast("Mapping[str, Any]", value["key"])
    return _summed((_named(one), pattern.count(key)) for key, one in keys.items())


def _summed(parts: Iterable[tuple[tuple[str, bool], int]]) -> tuple[Ingredient, ...]:
    """Ingredients, equal ones summed at the place of the first."""
    counts = dict[tuple[str, bool], int]()
    for name, count in parts:
        counts[name] = counts.get(name, 0) + count
    return tuple(Ingredient(name, count, is_class) for (name, is_class), count in counts.items() if count)


def _named(value: Any) -> tuple[str, bool]:
    """Id of an ingredient, and whether it is a class; of a list the first alternative."""
    if isinstance(value, list):
        return _named(cast("Sequence[Any]", value)[0])
    if isinstance(value, str):
        return value.removeprefix("#"), value.startswith("#")
    return (str(value["tag"]), True) if "tag" in value else (_id(value), False)


def _id(value: Mapping[str, Any]) -> str:
    return str(value["item"] if "item" in value else value["id"])


def _without_cycles(recipes: Iterable[Recipe]) -> Iterable[Recipe]:
    """Recipes whose output none of their inputs needs, by what the recipes before them need."""
    needs = defaultdict[str, set[str]](set)
    for recipe in recipes:
        names = [one.name for one in recipe.inputs]
        if any(recipe.output == name or recipe.output in needs[name] for name in names):
            continue
        below = {*names, *(other for name in names for other in needs[name])}
        needs[recipe.output] |= below
        if recipe.group:
            needs[recipe.group] |= {recipe.output, *below}
        yield recipe


def _by_output(recipes: Iterable[Recipe]) -> dict[str, tuple[Recipe, ...]]:
    found = defaultdict[str, list[Recipe]](list)
    for one in recipes:
        found[one.output].append(one)
    return {name: tuple(ones) for name, ones in found.items()}
