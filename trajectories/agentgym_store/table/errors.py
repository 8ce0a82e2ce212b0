"""Conversion of the libraries' exceptions to `StoreError`."""

from collections.abc import Generator
from contextlib import contextmanager

import polars as pl
from deltalake.exceptions import DeltaError

from agentgym_store.arrow import pa
from agentgym_store.errors import StoreError, one_line


@contextmanager
def one_error(what: str) -> Generator[None]:
    """Convert errors of files, Arrow, polars and Delta to a `StoreError` of one line, `what: cause`."""
    try:
        yield
    except (DeltaError, OSError, ValueError, pa.ArrowException, pl.exceptions.PolarsError) as cause:
        raise StoreError(f"{what}: {_told(cause)}") from cause


def _told(cause: BaseException) -> str:
    text = one_line(cause)
    if isinstance(cause, FileNotFoundError) and ".parquet" in text:
        return f"{text}; a vacuum removes the files of old versions"
    return text
