"""Discovery of official games on disk: `find_games`.

    json_2.1.1/valid_seen/pick_and_place_simple-Mug-None-Desk-301/trial_T2019/game.tw-pddl   (ALFWORLD_DATA)
    compact_valid_seen.jsonl.xz                                                              (compact lines)

A game's id is the last two folder names, as in the literature; a compact line has its own.
"""

import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentgym_envs.alfworld.game import MAX_CHARACTERS, Game, GameError, read_compact_line, read_official

SPLITS = {
    "train": "official_train",
    "valid_seen": "valid_seen",
    "valid_unseen": "valid_unseen",
    "valid_train": "valid_train",
}
"""Split of the source -> our split: `train` is the name of the generated games."""
LOOSE = "imported"
"""Split of games without one."""
GAME_FILE = "game.tw-pddl"

_COMPACT_NAME = re.compile(r"compact_(\w+)\.jsonl\.xz")
_SKIPPED_BY_STOCK = re.compile(r"movable|Sliced")


@dataclass(frozen=True)
class FoundGame:
    """Game that was found and is not read yet."""

    name: str
    """Location, for messages."""
    split: str
    read: Callable[[], Game]
    """Raises `GameError`."""


def find_games(source: Path) -> Iterator[FoundGame]:
    """All games of a folder in a fixed order; compact files if there are any, and otherwise game folders.

    Raises `GameError` at the first corrupt compact file, `OSError` if something cannot be read.
    """
    compact = sorted(source.glob("compact_*.jsonl.xz"))
    for path in compact:
        yield from _lines_of(path)
    if not compact:
        for path in sorted(source.rglob(GAME_FILE)):
            folders = (*path.relative_to(source).parts[-2::-1], source.name)
            yield FoundGame(str(path.parent), _split_of(folders), partial(_read_folder, path))


def _lines_of(path: Path) -> Iterator[FoundGame]:
    name = _COMPACT_NAME.fullmatch(path.name)
    split = SPLITS.get(name[1], LOOSE) if name else LOOSE
    try:
        for number, line in enumerate(_bounded_lines(path), start=1):
            yield FoundGame(f"{path.name} line {number}", split, partial(read_compact_line, line))
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise GameError(f"{path} is corrupt: {error}") from None


def _bounded_lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = iter(lambda: file.readline(MAX_CHARACTERS + 1), "")
        yield from (_bounded(path, line) for line in lines)


def _bounded(path: Path, line: str) -> str:
    if len(line) > MAX_CHARACTERS:  # the rest of it would be read as the next line
        raise GameError(f"{path} has a line of more than {MAX_CHARACTERS:,} characters")
    return line


def _split_of(folders: tuple[str, ...]) -> str:
    """The split named by the first of these folders that has a split's name."""
    return next((SPLITS[folder] for folder in folders if folder in SPLITS), LOOSE)


def _read_folder(path: Path) -> Game:
    game_id = f"{path.parent.parent.name}/{path.parent.name}"
    if _SKIPPED_BY_STOCK.search(game_id):
        raise GameError("movable and Sliced tasks are not part of ALFWorld: the stock loader skips them, too")
    size = path.stat().st_size
    if size > MAX_CHARACTERS:
        raise GameError(f"the file has {size:,} bytes; at most {MAX_CHARACTERS:,} are read")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise GameError(f"the file is not UTF-8: {error.reason}") from None
    return read_official(text, game_id)
