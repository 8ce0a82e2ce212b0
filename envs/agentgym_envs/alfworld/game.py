"""ALFWorld game as data: `Game`, read from a compact line or from an official `game.tw-pddl` file.

A compact line is one JSON object (shortened):

    {"id": "pick_and_place_simple-Mug-None-Desk-301/trial_T1", "task": "put a mug in desk",
     "walk": ["go to shelf 1", ...], "goal": "(:goal (and ...))",
     "facts": ["receptacleType Desk_bar_1 DeskType", ...]}

An official file is JSON too; its `grammar` holds templates that the original engine evaluates. Here all of it
is parsed by regular expressions and nothing is ever evaluated, so an untrusted game is safe to load.
"""

import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

MAX_CHARACTERS = 1_000_000
MAX_FACTS = 20_000
MAX_ENTITIES = 2_000
MAX_GOAL_CHARACTERS = 4_000
MAX_WALKTHROUGH = 1_000

_TASK = re.compile(r'Your task is to: (.*?)\.?"')
_COMMENT = re.compile(r";[^\n]*")
_INIT = re.compile(r"\(\s*:init\b", re.IGNORECASE)
_GOAL = re.compile(r"\(\s*:goal\b", re.IGNORECASE)
_FACT = re.compile(r"\(([^()]*)\)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class GameError(ValueError):
    """A game, or a collection of games, cannot be used; the text is one line with the reason."""


@dataclass(frozen=True)
class Game:
    """Game with the data of its source. Only `sentence` may reach an agent."""

    id: str
    sentence: str
    """The goal sentence without its final dot: `put a clean soapbar in cabinet`."""
    facts: tuple[str, ...]
    """The initial state, `name arg arg` in the source's order and letter case."""
    goal: str
    """Text from `(:goal` on."""
    walkthrough: tuple[str, ...]
    """Commands that win, in the `move` dialect; empty if the source has none."""


class _CompactLine(BaseModel):
    """Format of a compact line."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    task: str
    walk: list[str]
    goal: str
    facts: list[str]


class _OfficialFile(BaseModel):
    """Fields of a `game.tw-pddl` file that are read."""

    model_config = ConfigDict(extra="ignore", strict=True)

    grammar: str
    pddl_problem: str
    solvable: bool | None = None
    walkthrough: list[str] | None = None


def read_compact_line(line: str) -> Game:
    """The game of one line of a compact file; raises `GameError`."""
    _check_size(line)
    try:
        data = _CompactLine.model_validate_json(line)
    except ValidationError as error:
        raise GameError(f"not a compact game line: {_first_problem(error)}") from None
    return _checked(Game(data.id, data.task, tuple(data.facts), data.goal, tuple(data.walk)))


def read_official(text: str, game_id: str) -> Game:
    """The game of a `game.tw-pddl` file's text; raises `GameError`, also if it is marked unsolvable."""
    _check_size(text)
    try:
        data = _OfficialFile.model_validate_json(text)
    except ValidationError as error:
        raise GameError(f"not a game.tw-pddl file: {_first_problem(error)}") from None
    if data.solvable is False:
        raise GameError("the game is marked unsolvable")
    sentence = _TASK.search(data.grammar)
    if sentence is None:
        raise GameError('the grammar has no "Your task is to: ..." sentence')
    facts, goal = _read_problem(data.pddl_problem)
    return _checked(Game(game_id, sentence[1], facts, goal, tuple(data.walkthrough or ())))


def write_compact_line(game: Game) -> str:
    """The compact line of `game`, without a line end; `read_compact_line` restores the same game."""
    line = _CompactLine(
        id=game.id,
        task=game.sentence,
        walk=list(game.walkthrough),
        goal=game.goal,
        facts=list(game.facts),
    )
    return line.model_dump_json()


def _read_problem(problem: str) -> tuple[tuple[str, ...], str]:
    """Initial facts and goal text of a PDDL problem."""
    text = _COMMENT.sub("", problem)
    init = _INIT.search(text)
    if init is None:
        raise GameError("the problem has no (:init ...)")
    goal = _GOAL.search(text, init.end())
    if goal is None:
        raise GameError("the problem has no (:goal ...) after its (:init ...)")
    groups = _FACT.findall(text, init.end(), goal.start())
    return tuple(" ".join(group.split()) for group in groups), " ".join(text[goal.start() :].split())


def _check_size(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise GameError(f"the game has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read")


def _checked(game: Game) -> Game:
    """`game` if its parts are within bounds; else raises `GameError`."""
    if not 1 <= len(game.id) <= 256 or _UNPRINTABLE.search(game.id):
        raise GameError("the game's id must have 1 to 256 characters and no control character")
    if not 1 <= len(game.sentence) <= 500 or _UNPRINTABLE.search(game.sentence):
        raise GameError("the goal sentence must have 1 to 500 characters and no control character")
    sizes = (
        ("facts", len(game.facts), MAX_FACTS),
        ("characters in its goal", len(game.goal), MAX_GOAL_CHARACTERS),
        ("commands in its walkthrough", len(game.walkthrough), MAX_WALKTHROUGH),
    )
    for what, size, limit in sizes:
        if size > limit:
            raise GameError(f"the game has {size:,} {what}; at most {limit:,} are read")
    return game


def _first_problem(error: ValidationError) -> str:
    """The first error of a validation in one line, without the invalid input."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
