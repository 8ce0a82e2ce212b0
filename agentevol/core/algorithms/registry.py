"""Registry of algorithms by name, one module each; their options are keyword arguments and configuration
fields.

objective("sft", {"dft": True}).loss(batch)
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from agentevol.core.algorithms.contract import (
    Algorithm,
    Column,
    Objective,
    Option,
    Switch,
    conditions,
    is_on,
)
from agentevol.core.algorithms.options import check_option, options_of, own, unbound
from agentevol.core.errors import ConfigError
from agentevol.core.extensions import Extensions

FAMILIES = {
    "imitation": ("agentevol", "filtered_bc", "sft", "softmax_bc", "weighted_bc"),
    "policy_gradient": (
        "ampo",
        "cispo",
        "dapo",
        "dr_grpo",
        "gigpo",
        "grpo",
        "gspo",
        "lagrangian",
        "ppo",
        "reinforce_pp",
        "reinforce_pp_baseline",
        "rloo",
    ),
    "preference": ("adpo", "dpo", "ipo", "kto", "orpo", "ranking"),
    "reward_model": ("bradley_terry", "process_reward"),
}
"""Families of algorithms, each a folder of `agentevol.learn.algorithms`, and the names of their modules."""
ALGORITHMS = {
    name: f"agentevol.learn.algorithms.{family}.{name}:ALGORITHM"
    for family, members in FAMILIES.items()
    for name in members
}
"""Name to the `Algorithm` of this package; its module is imported on first use."""
EXTENSIONS = Extensions("algorithm", "agentevol.algorithms", ALGORITHMS)


def algorithm(name: str) -> Algorithm:
    """Return the algorithm of this name: the package's own, an entry point's, or `module:attribute`.

    Raises `ConfigError` where there is none.
    """
    found = EXTENSIONS.load(name)
    if not isinstance(found, Algorithm):
        raise ConfigError(f"algorithm {name!r} is {type(found).__name__}, not an Algorithm")
    return found


def objective(name: str, options: Mapping[str, Option] | None = None) -> Objective:
    """Return the algorithm of this name with `options` bound.

    Raises `ConfigError` for an unknown name, an unknown option, a value of the wrong type, and an option that
    has no effect beside the others.
    """
    chosen, given = algorithm(name), dict(options or {})
    known = _declared_types(chosen)
    for option, value in given.items():
        check_option(name, option, value, known)
    values = {**option_defaults(chosen), **given}
    for option in given:
        _check_effect(name, option, chosen, values)
    if chosen.whole_batch_with is not None and _is_met(chosen.whole_batch_with, values):
        chosen = replace(chosen, together="batch")
    if not isinstance(chosen.soft_pairs, bool):
        chosen = replace(chosen, soft_pairs=_is_met(chosen.soft_pairs, values))
    switched: set[Column] = {
        column for column, option in chosen.needs.items() if option is None or is_on(values[option])
    }
    return Objective(
        name=name,
        algorithm=chosen,
        options=values,
        loss=_bound(chosen.loss, values),
        advantage=None if chosen.advantage is None else _bound(chosen.advantage, values),
        weigh=None if chosen.weigh is None else _bound(chosen.weigh, values),
        needs=frozenset(switched),
    )


def option_types(chosen: Algorithm) -> dict[str, Any]:
    """Names and types of an algorithm's options: the keyword-only arguments of its functions."""
    return {
        option: get_args(kind)[0] if get_origin(kind) is Annotated else kind
        for option, kind in _declared_types(chosen).items()
    }


def option_defaults(chosen: Algorithm) -> dict[str, Any]:
    """Names and defaults of an algorithm's options."""
    return {
        name: argument.default
        for function in _functions(chosen)
        for name, argument in options_of(function).items()
    }


def _declared_types(chosen: Algorithm) -> dict[str, Any]:
    """The types of an algorithm's options with their ranges."""
    return {
        option: get_type_hints(unbound(function), include_extras=True)[option]
        for function in _functions(chosen)
        for option in options_of(function)
    }


def _functions(chosen: Algorithm) -> list[Callable[..., Any]]:
    functions = (chosen.loss, chosen.advantage, chosen.weigh)
    return [function for function in functions if function is not None]


def _bound(function: Callable[..., Any], values: Mapping[str, Option]) -> Callable[..., Any]:
    return partial(function, **own(function, values))


def _check_effect(name: str, option: str, chosen: Algorithm, values: Mapping[str, Option]) -> None:
    hindrances: list[str] = []
    for switch in conditions(chosen.only_with.get(option)):
        if _is_met(switch, values):
            return
        other, *wanted = switch if isinstance(switch, tuple) else (switch,)
        needed = " or ".join(map(repr, wanted)) if wanted else "on"
        hindrances.append(f"{other!r} is {values[other]!r}, not {needed}")
    if hindrances:
        raise ConfigError(f"option {option!r} of {name} has no effect: {' and '.join(hindrances)}")


def _is_met(switch: Switch, values: Mapping[str, Option]) -> bool:
    other, *wanted = switch if isinstance(switch, tuple) else (switch,)
    return values[other] in wanted if wanted else is_on(values[other])
