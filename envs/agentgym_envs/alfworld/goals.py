"""Goals of ALFWorld: `Goal`, parsed from PDDL by its structure.

Six shapes exist, each also with sliced objects. A goal of another shape is refused, and not treated as
unreachable. Nested `and` and `exists` are equivalent to one conjunction, so only that is compared:

    (:goal (and (exists (?r - receptacle) (exists (?o - object) (and
        (inReceptacle ?o ?r) (objectType ?o MugType) (receptacleType ?r DeskType))))))

is `Goal("pick_and_place_simple", object_type="mugtype", target_type="desktype")`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agentgym_envs.alfworld.game import GameError

KINDS = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""The six task types, by ALFRED's names."""

Treatment = Literal["clean", "hot", "cool"]
Literals = frozenset[tuple[str, ...]]
Tree = str | list["Tree"]

_TYPINGS = ("objecttype", "receptacletype")
_OTHER_SHAPE = "the goal has none of the six shapes of ALFWorld's tasks"
_MAX_TOKENS = 500
_MAX_DEPTH = 30
_TYPED = re.compile(r"((?:\?\S+ )+)- (\w+)")
_DECLARED = re.compile(r"(?:\?[^\s()]+ )+- \w+(?: (?:\?[^\s()]+ )+- \w+)*")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass(frozen=True)
class Goal:
    """Conditions at the end of a game. Types are lower-cased and carry the suffix `type`."""

    kind: str
    """One of `KINDS`."""
    object_type: str
    target_type: str
    """The receptacle's type; for `look_at_obj_in_light` the lamp's."""
    count: int = 1
    """Number of objects that must be in the same receptacle."""
    treatment: Treatment | None = None
    sliced: bool = False


def parse_goal(text: str) -> Goal:
    """The goal of a `(:goal ...)` text; raises `GameError` for any other shape."""
    variables: dict[str, str] = {}
    literals = frozenset(_literals(_body(_read(text.lower())), {}, variables))
    roles = _roles(literals, variables)
    named = frozenset(tuple(roles.get(word, word) for word in literal) for literal in literals)
    types = {literal[:2]: literal[2] for literal in named if literal[0] in _TYPINGS and len(literal) == 3}
    facts = named - {(*key, value) for key, value in types.items()}
    if ("issliced", "o1") in facts:
        facts -= {("sliceable", "o1"), ("sliceable", "o2")}
    for goal, shape in _shapes(types):
        cut: Literals = frozenset(("issliced", f"o{number}") for number in range(1, goal.count + 1))
        if facts | types.keys() in (shape, shape | cut):
            return replace(goal, sliced=bool(facts & cut))
    raise GameError(_OTHER_SHAPE)


def _shapes(types: dict[tuple[str, ...], str]) -> Iterator[tuple[Goal, Literals]]:
    """Every goal over the given types, with the facts that state it; a type fact is given without its
    type.
    """
    simple, light, clean, heat, cool, two = KINDS
    first = types.get(("objecttype", "o1"), "")
    target = types.get(("receptacletype", "r"), "")
    place: Literals = frozenset({("inreceptacle", "o1", "r"), ("objecttype", "o1"), ("receptacletype", "r")})
    yield Goal(simple, first, target), place
    yield Goal(clean, first, target, 1, "clean"), place | {("cleanable", "o1"), ("isclean", "o1")}
    yield Goal(heat, first, target, 1, "hot"), place | {("heatable", "o1"), ("ishot", "o1")}
    yield Goal(cool, first, target, 1, "cool"), place | {("coolable", "o1"), ("iscool", "o1")}
    if types.get(("objecttype", "o2")) == first:
        second: Literals = frozenset(
            {("inreceptacle", "o2", "r"), ("objecttype", "o2"), ("different", "o1", "o2")}
        )
        yield Goal(two, first, target, 2), place | second
    lit: Literals = frozenset({("objecttype", "lamp"), ("toggleable", "lamp"), ("istoggled", "lamp")})
    near: Literals = frozenset(
        {("inreceptacle", "lamp", "r"), ("receptacleatlocation", "r", "l"), ("atlocation", "a", "l")}
    )
    held: Literals = frozenset({("objecttype", "o1"), ("holds", "a", "o1")})
    yield Goal(light, first, types.get(("objecttype", "lamp"), "")), lit | near | held


def _roles(literals: Literals, variables: dict[str, str]) -> dict[str, str]:
    """Each variable's name in `_shapes`: `o1`, `o2`, `lamp`, `r`, `l`, `a`."""
    lamps = {literal[1] for literal in literals if literal[0] == "istoggled"}
    roles = dict.fromkeys(sorted(lamps), "lamp")
    short = {"receptacle": "r", "location": "l", "agent": "a"}
    objects = 0
    for variable, sort in variables.items():
        if sort == "object" and variable not in lamps:
            objects += 1
            roles[variable] = f"o{objects}"
        elif sort in short:
            roles[variable] = short[sort]
    named = list(roles.values())
    if any(named.count(role) > 1 for role in ("lamp", "r", "l")):
        raise GameError(_OTHER_SHAPE)
    return roles


def _literals(tree: Tree, scope: dict[str, str], variables: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """The conjuncts of `tree`; every quantified variable gets a name of its own, noted with its sort."""
    match tree:
        case ["and", *parts]:
            for part in parts:
                yield from _literals(part, scope, variables)
        case ["exists", [*declared], body]:
            yield from _literals(body, scope | _declare(declared, variables), variables)
        case ["not", ["=", str(first), str(second)]] if first in scope and second in scope:
            yield "different", *sorted((scope[first], scope[second]))
        case [str(name), *words]:
            yield name, *(_argument(word, scope) for word in words)
        case _:
            raise GameError("the goal is not a conjunction of facts")


def _argument(word: Tree, scope: dict[str, str]) -> str:
    """An argument of a fact: a type's name, or a variable's own name."""
    if not isinstance(word, str) or (word.startswith("?") and word not in scope):
        raise GameError("the goal is not a conjunction of facts about quantified variables")
    return scope.get(word, word)


def _declare(declared: list[Tree], variables: dict[str, str]) -> dict[str, str]:
    """Names for the variables of `?o1 ?o2 - object ?r - receptacle`, each noted with its sort."""
    text = " ".join(word if isinstance(word, str) else "()" for word in declared)
    if not _DECLARED.fullmatch(text):
        raise GameError("the goal quantifies something that is not a typed variable")
    names: dict[str, str] = {}
    for group, sort in _TYPED.findall(text):
        for variable in group.split():
            names[variable] = f"?{len(variables):03}"
            variables[names[variable]] = sort
    return names


def _body(tree: Tree) -> Tree:
    match tree:
        case [":goal", body]:
            return body
        case _:
            raise GameError("the goal is not of the form (:goal ...)")


def _read(text: str) -> Tree:
    """The first parenthesised expression of `text`; the rest belongs to the enclosing problem."""
    open_groups: list[list[Tree]] = []
    for count, token in enumerate(_TOKEN.findall(text)):
        if count > _MAX_TOKENS or len(open_groups) > _MAX_DEPTH:
            raise GameError("the goal is too long or too deeply nested")
        if token == "(":
            open_groups.append([])
        elif not open_groups:
            break
        elif token != ")":
            open_groups[-1].append(token)
        elif len(open_groups) == 1:
            return open_groups[0]
        else:
            open_groups[-2].append(open_groups.pop())
    raise GameError("the goal's parentheses do not match")
