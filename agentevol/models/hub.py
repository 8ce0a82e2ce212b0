"""Models of the Hugging Face hub by name: `owner/name`, or `owner/name@revision`.

    Qwen/Qwen2.5-1.5B-Instruct          its latest commit
    Qwen/Qwen2.5-1.5B-Instruct@989aa79  a branch, tag or commit

Files of a model are downloaded into the hub's own cache: weights as safetensors, configuration, tokenizer;
never pickle or code. The hub's own settings apply: HF_TOKEN, HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from agentevol.core.errors import ConfigError

_NAME = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w.][\w./-]*))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
INDEX = "model.safetensors.index.json"
SMALL = ("*.json", "*.jinja", "merges.txt")
WEIGHTS = "*.safetensors"
NOT_READ = ("*/*", "consolidated*")
"""Excluded files: folders within a repository, and second copies of the weights in other layouts."""


@dataclass(frozen=True)
class HubName:
    """A model of the hub."""

    repository: str
    revision: str | None = None
    """A branch, tag or commit; None is the main branch."""

    def __str__(self) -> str:
        return self.repository if self.revision is None else f"{self.repository}@{self.revision}"

    @property
    def is_pinned(self) -> bool:
        """True if the revision is a commit, which never changes."""
        return self.revision is not None and _COMMIT.fullmatch(self.revision) is not None


def hub_name(text: str) -> HubName | None:
    """Hub model that `text` names; None where it does not have the form of a name, or is a path.

    It is a path where a folder of the owner's name exists here, unless it has a revision.
    """
    found = _NAME.fullmatch(text)
    if found is None or (found["revision"] is None and Path(text).parent.is_dir()):
        return None
    return HubName(found["repository"], found["revision"])


def snapshot(name: HubName, *, weights: bool = True) -> Path:
    """Folder of this model's files in the hub's cache, downloaded where necessary; its name is the commit's.
    Without `weights`, all files but the weights.

    A complete commit in the cache is used without a request to the hub. Raises `ConfigError`, in one line
    with the remedy.
    """
    from huggingface_hub import constants, errors

    page = f"{constants.ENDPOINT}/{name.repository}"
    try:
        return _fetched(name, weights)
    except errors.GatedRepoError as cause:  # before its base class
        raise ConfigError(
            f"the model {name} is gated: accept its licence at {page}, and set HF_TOKEN to a token of the"
            " account that did"
        ) from cause
    except errors.RepositoryNotFoundError as cause:
        raise ConfigError(
            f"no model {str(name)!r}: no such folder, and none at {page}; check the spelling, or set HF_TOKEN"
            " where it is private"
        ) from cause
    except errors.RevisionNotFoundError as cause:
        raise ConfigError(
            f"the model {name.repository} has no revision {name.revision!r}: give a branch, tag or whole"
            f" commit of {page}"
        ) from cause
    except errors.LocalEntryNotFoundError as cause:
        raise ConfigError(_missing(name, constants.HF_HUB_CACHE, offline=_offline())) from cause
    except ConfigError:
        raise
    except Exception as cause:  # any type that the hub's client and its HTTP library raise
        reason = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise ConfigError(
            f"cannot fetch the model {name} from {constants.ENDPOINT}: {reason}; try again, or give a folder"
        ) from cause


def _fetched(name: HubName, weights: bool) -> Path:
    from huggingface_hub import errors, snapshot_download

    wanted: list[str] = [*SMALL, WEIGHTS] if weights else [*SMALL]

    unread: list[str] = [*NOT_READ]

    def download(*, local: bool) -> Path:
        found = snapshot_download(
            name.repository,
            revision=name.revision,
            allow_patterns=wanted,
            ignore_patterns=unread,
            local_files_only=local,
        )
        return Path(str(found))

    if name.is_pinned:
        try:
            there = download(local=True)
        except errors.LocalEntryNotFoundError:
            pass
        else:
            if is_whole(there, weights=weights):
                return there
    folder = download(local=False)
    if is_whole(folder, weights=weights):
        return folder
    if _offline():
        raise errors.LocalEntryNotFoundError("the snapshot is incomplete")
    raise ConfigError(
        f"the model {name} cannot be used: its repository lacks config.json, tokenizer.json or weights as"
        " safetensors, the only ones that are read"
    )


def is_whole(folder: Path, *, weights: bool = True) -> bool:
    """Return whether a snapshot has all files that are read of a model."""
    if not all((folder / name).is_file() for name in ("config.json", "tokenizer.json")):
        return False
    if not weights:
        return True
    index = folder / INDEX
    if not index.is_file():
        return any(folder.glob(WEIGHTS))
    files = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    return all((folder / file).is_file() for file in files)


def _offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _missing(name: HubName, cache: str, *, offline: bool) -> str:
    """Reason for which a model is missing while the hub cannot be reached."""
    from huggingface_hub import constants

    if offline:
        return (
            f"the model {name} is incomplete in the hub's cache {cache}, and HF_HUB_OFFLINE forbids to fetch"
            " it: run once without, or give a folder"
        )
    return (
        f"no model {str(name)!r}: no such folder, incomplete in the hub's cache {cache}, and"
        f" {constants.ENDPOINT} cannot be reached; check the network, set HF_ENDPOINT to a mirror, or give a"
        " folder"
    )
