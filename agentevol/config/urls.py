"""Checks of URLs in configurations, which are written into logs and reports."""

from urllib.parse import urlsplit


def check_url(url: str) -> str:
    """The URL without a slash at its end. Raises `ValueError` for one that cannot be an endpoint."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not hold a password, it is written into logs: name a key's variable")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url.partition('?')[0]!r} is no URL of an endpoint, as http://host:8000 is")
    return url.rstrip("/")
