"""URLs in configurations, which are written into logs and reports: their check, and OpenAI's defaults."""

import os
from urllib.parse import urlsplit

from agentevol.core.errors import ConfigError

URL_VARIABLE, KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Environment variables with the address and the key of an OpenAI-compatible endpoint."""
DEFAULT_URL = "https://api.openai.com/v1"


def check_url(url: str) -> str:
    """The URL without a slash at its end. Raises `ValueError` for one that cannot be an endpoint."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not hold a password, it is written into logs: name a key's variable")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url.partition('?')[0]!r} is no URL of an endpoint, as http://host:8000 is")
    return url.rstrip("/")


def openai_url(given: str = "") -> str:
    """Address of an OpenAI-compatible endpoint: the given one, that of the environment variable, or OpenAI's.

    Raises `ConfigError`.
    """
    try:
        return check_url(given or os.environ.get(URL_VARIABLE) or DEFAULT_URL)
    except ValueError as cause:
        raise ConfigError(f"the judge's endpoint: {cause}") from cause
