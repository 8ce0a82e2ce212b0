"""Losses by name: pure functions `(batch, *, options) -> Loss`, whose options are configuration fields."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from agentevol.errors import ConfigError
from agentevol.learn.algorithms.contract import Algorithm, Loss
from agentevol.learn.algorithms.sft import sft

Option = bool | int | float | str

ALGORITHMS: dict[str, Callable[..., Loss]] = {"sft": sft}


def algorithm(name: str, options: Mapping[str, Option] | None = None) -> Algorithm:
    """The loss of this name with `options` bound.

    Raises `ConfigError` for an unknown name, an unknown option and a value of the wrong type.
    """
    loss = ALGORITHMS.get(name)
    if loss is None:
        raise ConfigError(f"no algorithm named {name!r}; there are: {', '.join(sorted(ALGORITHMS))}")
    known = option_types(loss)
    for option, value in (options or {}).items():
        if option not in known:
            raise ConfigError(
                f"{name} has no option {option!r}; there are: {', '.join(sorted(known)) or 'none'}"
            )
        try:
            TypeAdapter(known[option]).validate_python(value, strict=True)
        except ValidationError as cause:
            raise ConfigError(
                f"option {option!r} of {name} cannot be {value!r}: {cause.errors()[0]['msg']}"
            ) from cause
    return partial(loss, **(options or {}))


def option_types(loss: Callable[..., Loss]) -> dict[str, Any]:
    """Names and types of a loss's options: its keyword-only arguments."""
    hints = get_type_hints(loss)
    arguments = inspect.signature(loss).parameters.values()
    return {
        argument.name: hints[argument.name]
        for argument in arguments
        if argument.kind is argument.KEYWORD_ONLY
    }
