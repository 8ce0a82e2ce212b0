"""Names of models as users write them: `starter`, a Hugging Face folder, or a run's folder (its best
checkpoint).
"""

import json
from pathlib import Path

from agentevol.errors import ConfigError
from agentevol.protocols import Checkpoint


def resolve(name: str) -> Checkpoint:
    """The checkpoint that `name` stands for. Raises `ConfigError` saying what was looked for."""
    if name == "starter":
        return Checkpoint(starter_folder(), 0)
    path = Path(name).expanduser()
    if (path / "best.json").is_file():
        place = json.loads((path / "best.json").read_text())
        return Checkpoint(path / place["path"], int(place["iteration"]))
    if (path / "config.json").is_file():
        return Checkpoint(path, 0)
    if path.is_dir():
        raise ConfigError(f"{path} is neither a model folder (config.json) nor a finished run (best.json)")
    raise ConfigError(f"no model {name!r}: give `starter`, a model folder or a run's folder")


def starter_folder() -> Path:
    """The starter policy that comes with the package."""
    folder = Path(__file__).parent / "starter" / "alfworld"
    if not (folder / "model.safetensors").is_file():
        raise ConfigError(
            f"the starter policy is missing from {folder}; make it with `agentevol starter build`"
        )
    return folder
