"""Texts of single tokens, by the tokenizer of a run's checkpoints."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from agentevol.ui.library import Source


class Tokenizer:
    """Tokenizer of a `tokenizer.json`, read without transformers, whose import takes seconds."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer as Loaded

        self._loaded: Any = Loaded.from_file(str(file))

    def text(self, token: int) -> str:
        """Text of one token; a part of a character has none of its own and is `\\ufffd`."""
        if not 0 <= token < 2**31:
            return ""
        decoded = self._loaded.decode([token], skip_special_tokens=False)
        # some decoders drop the space before a first word
        name = self._loaded.id_to_token(token)
        is_spaced = name is not None and name.startswith(("Ġ", "▁"))
        return f" {decoded}" if is_spaced and not decoded.startswith(" ") else decoded


def tokenizer_of(source: Source) -> Tokenizer | None:
    """Tokenizer of the run's checkpoints, which are all alike; None for a table, or where it is not there."""
    if not isinstance(source.place, Path) or not source.is_run:
        return None
    file = next(iter(sorted((source.place / "checkpoints").glob("*/tokenizer.json"))), None)
    return None if file is None else _loaded(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(file: Path, changed: int) -> Tokenizer | None:
    del changed
    try:
        return Tokenizer(file)
    except Exception:  # noqa: BLE001 - tokenizers raises plain `Exception`; ids are shown instead
        return None
