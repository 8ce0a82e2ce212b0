"""Options of composed functions: each option is declared in one place.

    @takes_options_of(policy_gradient, value_loss)
    def ppo(batch: Batch, **options: Option) -> Loss:
        policy = policy_gradient(batch, **own(policy_gradient, options))
        ...

The range of an option is part of its type, so that an invalid configuration is rejected before anything runs.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from agentevol.core.errors import ConfigError

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]


def _off_or_above_one(value: float) -> float:
    if value and not 1 < value < float("inf"):
        raise ValueError("0 switches it off, otherwise it has to be above 1")
    return value


OffOrAboveOne = Annotated[float, AfterValidator(_off_or_above_one)]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Innermost function of nested `partial`s, which hide its types."""
    while isinstance(function, partial):
        function = function.func
    return function


def options_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only arguments of a function by name."""
    arguments = inspect.signature(function).parameters
    return {name: argument for name, argument in arguments.items() if argument.kind is argument.KEYWORD_ONLY}


def own(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Subset of `options` that the function takes."""
    taken = options_of(function)
    return {name: value for name, value in options.items() if name in taken}


def check_option(name: str, option: str, value: Any, known: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for an option that `name` does not have, by the types of its options, or for a
    value of another type or out of range.
    """
    if option not in known:
        raise ConfigError(f"{name} has no option {option!r}; there are: {', '.join(sorted(known)) or 'none'}")
    try:
        TypeAdapter(known[option]).validate_python(value, strict=True)
    except ValidationError as cause:
        raise ConfigError(
            f"option {option!r} of {name} cannot be {value!r}: {cause.errors()[0]['msg']}"
        ) from cause


def takes_options_of(*parts: Callable[..., Any]) -> Callable[[FunctionT], FunctionT]:
    """Declare the options of `parts` as those of the decorated function, which takes them as `**options`.

    Raises `TypeError` where two parts give one option different defaults: one of them would be ignored.
    """

    def declare(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        plain = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        inherited: dict[str, inspect.Parameter] = {}
        for name, argument in (item for part in parts for item in options_of(part).items()):
            if inherited.setdefault(name, argument).default != argument.default:
                raise TypeError(f"option {name!r} has two defaults in the parts of {function.__qualname__}")
        hints = [get_type_hints(unbound(each), include_extras=True) for each in (*parts, function)]
        types = {name: kind for found in hints for name, kind in found.items()}
        merged = signature.replace(parameters=[*plain, *inherited.values()])
        vars(function)["__signature__"] = merged
        function.__annotations__ = types
        return function

    return declare
