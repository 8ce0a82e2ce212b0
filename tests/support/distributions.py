"""Distributions as pip leaves them in a folder: a module, and metadata with entry points."""

from collections.abc import Mapping
from pathlib import Path


def install(site: Path, name: str, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the distribution `name`, whose module of the same name has this code.

    `entry_points` are group -> name -> attribute of the module.
    """
    about = site / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{key} = {name}:{attribute}" for key, attribute in entries.items())])
        for group, entries in entry_points.items()
    ]
    (about / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    (site / f"{name}.py").write_text(code)
