"""Plans that craft an item with few commands: each base item is got once, and equal needs are crafted
together.

A plan depends on choices: which member of a class a recipe takes, and which recipe makes an item. Members
that share the same ingredients with what the plan needs anyway, and cost equally many commands, are alike:
one of them is tried. `LIMIT` bounds the plans that are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import ceil
from typing import Final

from agentgym_envs.textcraft.recipes import Ingredient, Recipe, RecipeBook, text_of

LIMIT: Final = 3_000
"""Plans that are compared for a goal."""

Choices = Mapping[tuple[str, str], str | Recipe]
"""Member by (output, class), and recipe by ("", item)."""


class Planner:
    """Plans in a book of recipes; what was found is kept."""

    def __init__(self, book: RecipeBook) -> None:
        self._book = book
        self._best = cache(self._shortest)
        self._cost, self._inevitable = cache(self._cheapest), cache(self._common)

    def plan(self, goal: str) -> list[str]:
        """The shortest plan that was found from an empty inventory."""
        return self._commands(goal, self._best(goal), {})

    def missing(self, goal: str, held: Mapping[str, int]) -> list[str]:
        """Commands that are left with this inventory, with the choices of the plan."""
        return self._commands(goal, self._best(goal), held)

    def _shortest(self, goal: str) -> Choices:
        plans = islice(self._complete(goal, {}), LIMIT)
        return min(plans, key=lambda choices: len(self._commands(goal, choices, {})))

    def _complete(self, goal: str, choices: dict[tuple[str, str], str | Recipe]) -> Iterator[Choices]:
        """All complete choices from these on; those of the cheapest members first."""
        needed, open_key = self._walk(goal, choices)
        if open_key is None:
            yield choices
            return
        for option in self._options(open_key, needed | self._inevitable(goal)):
            yield from self._complete(goal, {**choices, open_key: option})

    def _walk(self, goal: str, choices: Choices) -> tuple[set[str], tuple[str, str] | None]:
        """Items that the goal needs by these choices, and the first choice that is open."""
        waiting, needed, undecided = [goal], {goal}, None
        while waiting:
            name = waiting.pop()
            recipe = self._recipe(name, choices)
            if recipe is None:
                if name in self._book.of and undecided is None:
                    undecided = ("", name)
                continue
            for one in recipe.inputs:
                item = self._item(recipe, one, choices)
                if item is None:
                    undecided = undecided or (recipe.output, one.name)
                elif item not in needed:
                    needed.add(item)
                    waiting.append(item)
        return needed, undecided

    def _options(self, key: tuple[str, str], needed: set[str]) -> Sequence[str | Recipe]:
        output, name = key
        if not output:
            return self._book.of[name]
        members = self._book.members[name]
        taken = {one.name for recipe in self._book.of[output] for one in recipe.inputs}
        free = [item for item in members if item not in taken] or list(members)
        alike: dict[tuple[frozenset[str], int], str] = {}
        for item in sorted(free):
            alike.setdefault((self._inevitable(item) & needed, self._cost(item)), item)
        return list(alike.values())

    def _cheapest(self, item: str) -> int:
        """Commands for one of the item, by the cheapest members alone."""
        if item not in self._book.of:
            return 1
        return min(
            1 + sum(min(map(self._cost, self._members(one))) for one in recipe.inputs)
            for recipe in self._book.of[item]
        )

    def _common(self, item: str) -> frozenset[str]:
        """Items that every plan for the item needs."""
        found = [self._all_of(recipe) for recipe in self._book.of.get(item, ())]
        return frozenset({item, *(_intersection(found) if found else ())})

    def _all_of(self, recipe: Recipe) -> set[str]:
        """Items that every plan with the recipe needs."""
        return {
            name
            for one in recipe.inputs
            for name in _intersection([set(self._inevitable(item)) for item in self._members(one)])
        }

    def _members(self, one: Ingredient) -> Sequence[str]:
        return self._book.members[one.name] if self._book.has_class(one.name) else (one.name,)

    def _recipe(self, name: str, choices: Choices) -> Recipe | None:
        """The recipe of an item; None for a base item, and where it is not chosen yet."""
        known = self._book.of.get(name, ())
        if len(known) == 1:
            return known[0]
        chosen = choices.get(("", name))
        return chosen if isinstance(chosen, Recipe) else None

    def _item(self, recipe: Recipe, one: Ingredient, choices: Choices) -> str | None:
        if not self._book.has_class(one.name):
            return one.name
        chosen = choices.get((recipe.output, one.name))
        return chosen if isinstance(chosen, str) else None

    def _commands(self, goal: str, choices: Choices, held: Mapping[str, int]) -> list[str]:
        """Commands in an order in which each finds what it takes."""
        order, wanted = self._order(goal, choices), {goal: 1}
        got, crafted = list[str](), list[str]()
        for name in order:  # the goal first, then what it takes
            missing = wanted.get(name, 0) - held.get(name, 0)
            recipe = self._recipe(name, choices)
            if missing <= 0:
                continue
            if recipe is None:
                got.append(f"get {missing} {text_of(name)}")
                continue
            batches = ceil(missing / recipe.count)
            taken = [(self._item(recipe, one, choices) or one.name, one.count) for one in recipe.inputs]
            for item, count in taken:
                wanted[item] = wanted.get(item, 0) + batches * count
            listed = ", ".join(f"{count} {text_of(item)}" for item, count in taken)
            crafted += [f"craft {recipe.count} {text_of(name)} using {listed}"] * batches
        return [*reversed(got), *reversed(crafted)]

    def _order(self, goal: str, choices: Choices) -> list[str]:
        """Items that the goal needs, each before all that it takes."""
        found, done = list[str](), set[str]()

        def visit(name: str) -> None:
            if name in done:
                return
            done.add(name)
            if (recipe := self._recipe(name, choices)) is not None:
                for one in recipe.inputs:
                    visit(self._item(recipe, one, choices) or one.name)
            found.append(name)

        visit(goal)
        return found[::-1]


def _intersection(sets: Sequence[set[str]]) -> set[str]:
    found = set(sets[0])
    for one in sets[1:]:
        found &= one
    return found
