"""Presets of placement: packaged files with the number of a run's processes and their places.

agentevol run --preset eight-gpus mine.toml learn.shards=2    an override precedes the file, the file the
preset
"""

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all presets."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def preset_file(name: str) -> Path:
    """The preset's configuration file."""
    return FOLDER / f"{name}.toml"
