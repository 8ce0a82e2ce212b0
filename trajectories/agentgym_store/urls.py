"""URLs of object stores, and their distinction from paths."""

import re
from pathlib import Path

from agentgym_store.errors import StoreError

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://")
_PLAIN = re.compile(r"[\w.=@/-]+", re.ASCII)


def is_url(place: Path | str) -> bool:
    """True if this is an object store URL, by its scheme, rather than a folder."""
    return isinstance(place, str) and _URL.match(place) is not None


def named(text: str) -> Path | str:
    """A table location given as text: a URL unchanged, anything else as a path."""
    return text if is_url(text) else Path(text).expanduser()


def checked(url: str) -> str:
    """The URL without a trailing slash. Raises `StoreError` if no table can be there."""
    match = _URL.match(url)
    if match is None or match[1] not in SCHEMES:
        raise StoreError(f"{url}: no object store; a URL begins with {'://, '.join(SCHEMES)}://")
    if not _PLAIN.fullmatch(url[match.end() :]):  # delta-rs decodes percent signs twice
        raise StoreError(f"{url}: after the scheme only letters, digits and . _ - = @ / may stand")
    return url.rstrip("/")
