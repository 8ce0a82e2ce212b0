"""Resolution of model names: `starter` or `starter:ENVIRONMENT`, a Hugging Face folder, a run's folder (its
best checkpoint), or a model of the Hugging Face hub.
"""

import json
import re
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError, one_line
from agentevol.core.protocols import Checkpoint
from agentevol.core.starter_names import MODES
from agentevol.models.hub import HubName, hub_name, snapshot
from agentgym_envs.home import data_home

STARTERS = Path(__file__).parent.parent / "runs" / "starter"
_STARTER = re.compile(r"starter(?::(.*))?", re.DOTALL)
"""Name with the starter's environment; without, it is ALFWorld's."""


def resolve(name: str, *, weights: bool = True) -> Checkpoint:
    """The checkpoint of this name. Raises `ConfigError` with the places that were searched.

    A hub model is downloaded; without `weights`, only its configuration and tokenizer.
    """
    if starter := _STARTER.fullmatch(name):
        return Checkpoint(starter_folder("alfworld" if starter[1] is None else starter[1]), 0)
    path = Path(name).expanduser()
    if (path / "best.json").is_file():
        place = _read(path / "best.json")
        return Checkpoint(path / str(place.get("path")), _whole(place.get("iteration")))
    if (path / "config.json").is_file():
        lineage = path / "agentevol.json"
        return Checkpoint(path, _whole(_read(lineage).get("version")) if lineage.is_file() else 0)
    if path.is_dir():
        hint = (
            f"; a checkpoint of it is one: {path}/checkpoints/NUMBER"
            if (path / "checkpoints").is_dir()
            else ""
        )
        raise ConfigError(
            f"{path} is neither a model folder (config.json) nor a finished run (best.json){hint}"
        )
    wanted = hub_name(name)
    if wanted is not None:
        return Checkpoint(snapshot(wanted, weights=weights), 0)
    hint = f"{name}@main" if hub_name(f"{name}@main") else "owner/name"
    raise ConfigError(
        f"no model {name!r}: give `starter`, a model folder or a run's folder; of the Hugging Face hub:"
        f" {hint}"
    )


def pinned(name: str) -> str:
    """A name that always identifies the same model: for a hub model, with its commit."""
    wanted = None if _STARTER.fullmatch(name) or Path(name).expanduser().exists() else hub_name(name)
    if wanted is None or wanted.is_pinned:
        return name
    return str(HubName(wanted.repository, resolve(name, weights=False).path.name))


def check_folder(path: Path) -> None:
    """Raise `ConfigError` unless `path` is a folder with config.json and whole safetensors, of which headers
    and lengths are read.
    """
    if not path.is_dir():
        raise ConfigError(f"no checkpoint at {path}: not a folder")
    if not (path / "config.json").is_file():
        raise ConfigError(f"no checkpoint at {path}: config.json is missing")
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise ConfigError(f"no checkpoint at {path}: no weights (*.safetensors)")
    for file in files:
        _check_header(file)


def _check_header(file: Path) -> None:
    from safetensors import SafetensorError, safe_open  # not there where nothing is trained

    try:
        with safe_open(file, framework="numpy"):
            pass
    except (SafetensorError, OSError) as cause:
        raise ConfigError(
            f"{file} is corrupt: {one_line(cause)}; take another checkpoint, or restore it"
        ) from cause


def _read(file: Path) -> dict[str, Any]:
    """Content of one of our own files; raises `ConfigError` where it is not a JSON object."""
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise ConfigError(f"{file} is corrupt: {cause}; take another checkpoint, or restore it") from cause
    if not isinstance(found, dict):
        raise ConfigError(f"{file} is corrupt: no JSON object; take another checkpoint, or restore it")
    return found


def _whole(number: object) -> int:
    return number if isinstance(number, int) else 0


def shipped_starters() -> list[str]:
    """Environments whose starter policies are part of the package."""
    return sorted(file.parent.name for file in STARTERS.glob("*/model.safetensors"))


def built_starter(environment: str) -> Path:
    """Path of an environment's starter policy that `agentevol starter build` makes; it need not exist."""
    return data_home() / "starters" / environment


def starter_folder(environment: str = "alfworld") -> Path:
    """Starter policy of an environment: the package's own, or one that was built on this machine.

    Raises `ConfigError` where there is neither.
    """
    if environment in shipped_starters():
        return STARTERS / environment
    built = built_starter(environment)
    if "/" not in environment and (built / "model.safetensors").is_file():
        return built
    plain = environment.removesuffix(MODES)
    form = "" if plain == environment else " --format modes"
    raise ConfigError(
        f"no starter policy for {environment!r}: build one with"
        f" `agentevol starter build --env {plain}{form}`, or give base=FOLDER of a model, or"
        " base=OWNER/NAME of the Hugging Face hub"
    )
