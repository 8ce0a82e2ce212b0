"""Import of AMPO's data sets: `import_official`; `counts`, `verify` and `states` read what was imported.

home/ampo/cloning.jsonl    chats for `agentevol train`
home/ampo/states.jsonl     tasks of the split `states`
home/ampo/manifest.json    counts and hashes; written last
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from agentgym_envs.ampo.records import AmpoDataError, State
from agentgym_envs.ampo.sources import Found, read
from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST, difference, read_manifest
from agentgym_envs.import_report import FileName, ImportReport

NAME: Final = "ampo"
CLONING, STATES = "cloning.jsonl", "states.jsonl"


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    files: dict[FileName, str]
    """SHA-256 of each file."""
    counts: dict[str, int]
    """Records of each set."""


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the records of a folder, replacing an earlier import. Raises as `sources.read` does."""
    found = read(source, progress)
    root = home / NAME
    root.mkdir(parents=True, exist_ok=True)
    (root / MANIFEST).unlink(missing_ok=True)  # an interrupted import is none
    _write(root / CLONING, (json.dumps(one.chat, ensure_ascii=False) for one in found.turns))
    _write(root / STATES, (one.model_dump_json() for one in found.states))
    sizes = {"cloning": len(found.turns), "states": len(found.states)}
    manifest = Manifest(files={name: file_sha256(root / name) for name in (CLONING, STATES)}, counts=sizes)
    draft = root / f".{MANIFEST}"
    draft.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    draft.replace(root / MANIFEST)
    return ImportReport(sizes, tuple(found.refused), notes=_notes(found, root))


def counts(home: Path) -> dict[str, int] | None:
    """Records of each set; None if nothing was imported."""
    manifest = _manifest(home)
    return None if manifest is None else dict(manifest.counts)


def verify(home: Path) -> list[str]:
    """Differences between the imported files and the manifest."""
    try:
        manifest = _manifest(home)
    except AmpoDataError as cause:
        return [str(cause)]
    files = manifest.files if manifest else {}
    found = (difference(home / NAME / name, digest) for name, digest in files.items())
    return [line for line in found if line is not None]


def imported_states(home: Path) -> tuple[State, ...]:
    """The imported states; none without an import. Raises `AmpoDataError`."""
    manifest = _manifest(home)
    return () if manifest is None else _states(home / NAME / STATES, manifest.files[STATES])


@lru_cache(maxsize=2)
def _states(path: Path, digest: str) -> tuple[State, ...]:
    if (found := difference(path, digest)) is not None:
        raise AmpoDataError(found)
    with path.open(encoding="utf-8") as lines:
        return tuple(State.model_validate_json(line) for line in lines)


def _manifest(home: Path) -> Manifest | None:
    return read_manifest(home / NAME / MANIFEST, Manifest, AmpoDataError)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _notes(found: Found, root: Path) -> tuple[str, ...]:
    modes = Counter(one.mode for one in found.turns)
    told = ", ".join(f"{count:,} in mode {mode}" for mode, count in sorted(modes.items()))
    cloning = f"turns to clone: {told}; agentevol train {root / CLONING} algorithm=sft base=MODEL"
    states = f"states: agentevol run env={NAME} explore.split=states algorithm=ampo base=MODEL, with a judge"
    return (*([cloning] if found.turns else []), *([states] if found.states else []))
