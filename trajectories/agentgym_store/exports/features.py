"""Columns in the form of Hugging Face data set cards.

    {"name": "label", "dtype": "bool"}                         a value
    {"name": "meta", "struct": [...]}                          an object
    {"name": "messages", "list": [{"name": "role", ...}]}      a list of objects

A loader that infers columns from the first rows fails on later ones, where a column of nulls turns out to
have numbers. With these it does not infer.
"""

from collections.abc import Sequence

from agentgym_store.exports.contract import Feature


def value(name: str, dtype: str = "string") -> Feature:
    """A column of plain values."""
    return {"name": name, "dtype": dtype}


def struct(name: str, members: Sequence[Feature]) -> Feature:
    """A column of objects with these members."""
    return {"name": name, "struct": list(members)}


def objects(name: str, members: Sequence[Feature]) -> Feature:
    """A column of lists of objects with these members."""
    return {"name": name, "list": list(members)}


def values(name: str, dtype: str) -> Feature:
    """A column of lists of plain values."""
    return {"name": name, "list": dtype}


def messages(name: str) -> Feature:
    """A column of messages in the form of OpenAI and TRL."""
    return objects(name, [value("role"), value("content")])
