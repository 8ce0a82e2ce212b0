"""Import of published profiles: `import_official`; `sotopia.data.library` reads imported ones."""

from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import BaseModel

from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport
from agentgym_envs.sotopia.data.library import (
    AGENTS,
    COMBOS,
    ENVIRONMENTS,
    FILES,
    HARD_POSITIONS,
    NAME,
    POSITIONS,
    RELATIONSHIPS,
    Catalogue,
    Manifest,
    counts,
    verify,
)
from agentgym_envs.sotopia.data.profile_set import ProfileSet
from agentgym_envs.sotopia.data.sources import read_profiles

__all__ = ["counts", "import_official", "verify"]

NOTE = (
    "Sotopia's publishers declare its profiles CC-BY-SA 4.0: name arXiv:2310.11667 where they are shown, and"
    " do not train on what is evaluated: `hard` and the sources are parts of `all`"
)


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the profiles of a folder, replacing an earlier import.

    Nothing is refused: ids are positions, so that leaving one combination out would rename those behind it.
    `progress` is called with the number of records read so far. Raises `SotopiaDataError` for the first
    record that is not valid; `OSError` if something cannot be read or written.
    """
    profiles = read_profiles(source, progress)
    root = home / NAME
    with draft(root, "profiles-") as folder:
        manifest = _write(profiles, folder)
        before = Catalogue.open_if_sound(home)
        publish(root, folder, manifest, before.manifest.folder if before else None)
    return ImportReport(dict(manifest.splits), (), warnings=_warnings(profiles), notes=(NOTE,))


def _write(profiles: ProfileSet, folder: Path) -> Manifest:
    _write_lines(folder / ENVIRONMENTS, profiles.environments.values())
    _write_lines(folder / AGENTS, profiles.agents.values())
    _write_lines(folder / COMBOS, profiles.combos)
    _write_lines(folder / RELATIONSHIPS, profiles.relationships)
    (folder / HARD_POSITIONS).write_bytes(POSITIONS.dump_json(profiles.hard))
    return Manifest(
        folder=folder.name,
        files={name: file_sha256(folder / name) for name in FILES},
        splits={split: len(positions) for split, positions in profiles.positions.items()},
    )


def _write_lines(path: Path, records: Iterable[BaseModel]) -> None:
    """Write the fields that the source has, unknown ones included."""
    lines = (f"{record.model_dump_json(exclude_unset=True)}\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")


def _warnings(profiles: ProfileSet) -> tuple[str, ...]:
    """A warning if the hard subset has parts of scenarios: its positions may belong to another order."""
    hard = set(profiles.hard)
    chosen = {profiles.combos[position].env_id for position in hard}
    left = sum(combo.env_id in chosen for combo in profiles.combos) - len(hard)
    if not left:
        return ()
    return (
        f"the hard subset leaves out {left} combinations of its own scenarios; check that its positions"
        " belong to this list of combinations",
    )
