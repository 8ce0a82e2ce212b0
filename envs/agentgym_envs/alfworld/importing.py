"""Import of the official games: `import_official`. `agentgym_envs.alfworld.library` reads imported games.

The new folder is complete before the manifest names it, so an interrupted import changes nothing.
"""

import lzma
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agentgym_envs.alfworld.game import Game, GameError, write_compact_line
from agentgym_envs.alfworld.library import (
    ROWS,
    Catalogue,
    Manifest,
    Row,
    SplitFiles,
    counts,
    digest_of,
    digest_of_lines,
    load_split,
    verify,
)
from agentgym_envs.alfworld.scene import parse
from agentgym_envs.alfworld.sources import find_games
from agentgym_envs.alfworld.world import World
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused

__all__ = ["ImportReport", "Refused", "counts", "import_official", "load_split", "validate", "verify"]

_LIKE_GENERATED = re.compile(r"[a-z_]+/[a-z]+/[0-9]+")


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import every valid game below `source`, replacing an earlier import.

    `source` is an `ALFWORLD_DATA` root, a folder of game folders, or a folder with `compact_*.jsonl.xz`; in
    the last case only these files are read. A game is valid if it parses and its walkthrough wins; the others
    are reported. `progress` is called with the number of games read so far. Raises `GameError` if `source`
    has no valid game or a compact file is corrupt, `OSError` if it cannot be read or `home` cannot be
    written.
    """
    if not source.is_dir():
        raise GameError(f"{source} is no folder")
    root = home / "alfworld"
    with draft(root, "games-") as folder:
        splits, refused = _write_games(source, folder, progress or (lambda _: None))
        manifest = Manifest(folder=folder.name, splits=splits)
        before = Catalogue.open_if_sound(home)
        publish(root, folder, manifest, before.manifest.folder if before else None)
    return ImportReport({split: files.games for split, files in splits.items()}, refused)


def validate(game: Game) -> str:
    """The kind of a game that can be played and won; raises `GameError` for any other."""
    world = World(parse(game))
    if world.won:
        raise GameError("the goal holds before the first command")
    if not game.walkthrough:
        raise GameError("there is no walkthrough to show that the game can be won")
    for command in game.walkthrough:
        world.step(command)
        if world.won:
            return world.scene.goal.kind
    raise GameError("the walkthrough does not win")


@dataclass
class _Writer:
    """Writer of one split's file."""

    path: Path
    offset: int = 0
    rows: list[Row] = field(default_factory=list["Row"])

    def add(self, game: Game, kind: str) -> None:
        stream = lzma.compress(f"{write_compact_line(game)}\n".encode(), preset=1)
        with self.path.open("ab") as file:
            file.write(stream)
        row = Row(
            id=game.id,
            sentence=game.sentence,
            kind=kind,
            digest=digest_of(game),
            offset=self.offset,
            length=len(stream),
        )
        self.rows.append(row)
        self.offset += len(stream)

    def finish(self) -> SplitFiles:
        index = self.path.with_name(self.path.name.replace(".jsonl.xz", ".json"))
        index.write_bytes(ROWS.dump_json(tuple(self.rows)))
        return SplitFiles(
            games=len(self.rows),
            file=self.path.name,
            sha256=file_sha256(self.path),
            index=index.name,
            index_sha256=file_sha256(index),
            content=digest_of_lines(f"{row.id} {row.digest}" for row in self.rows),
        )


def _write_games(
    source: Path, folder: Path, progress: Callable[[int], None]
) -> tuple[dict[str, SplitFiles], tuple[Refused, ...]]:
    writers: dict[str, _Writer] = {}
    refused: list[Refused] = []
    seen: set[str] = set()
    for number, found in enumerate(find_games(source), start=1):
        try:
            game = found.read()
            kind = validate(game)
            _check_new(game, seen)
        except GameError as error:
            refused.append(Refused(name=found.name, reason=str(error)))
        else:
            writers.setdefault(found.split, _Writer(folder / f"{found.split}.jsonl.xz")).add(game, kind)
        progress(number)
    if not seen:
        first = f"; the first of {len(refused)}: {refused[0].name}: {refused[0].reason}" if refused else ""
        raise GameError(f"{source} has no game that can be imported{first}")
    return {split: writer.finish() for split, writer in sorted(writers.items())}, tuple(refused)


def _check_new(game: Game, seen: set[str]) -> None:
    if _LIKE_GENERATED.fullmatch(game.id):
        raise GameError(f"the id {game.id!r} has the form of a generated task's id")
    if game.id in seen:
        raise GameError(f"the id {game.id!r} occurs twice")
    seen.add(game.id)
