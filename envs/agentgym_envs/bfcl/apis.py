"""Simulated APIs of the wheel `bfcl-eval`, imported when the first episode begins.

Only the modules of the eight classes are imported. What they share in a process is kept as it was: constants
that functions change, the precision of mpmath, and the wall clock, which is one fixed time here.
"""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime, tzinfo
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from agentgym_envs.bfcl.documents import FILES

PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
DOCUMENTS = "data/multi_turn_func_doc"
NOW = datetime(2024, 9, 1, 10, 30)
"""The time of every episode, which is that of the class of the stock exchange."""
STATELESS = "MathAPI"

_SHARED = threading.RLock()


class FixedTime(datetime):
    """Stands for `datetime` in the class of travels, which tells a traveller's age by today's date."""

    @classmethod
    def today(cls) -> "FixedTime":
        """`NOW`."""
        return cls(NOW.year, NOW.month, NOW.day, NOW.hour, NOW.minute)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "FixedTime":
        """`NOW`."""
        return cls.today()


def require_wheel() -> None:
    """Raise `ModuleNotFoundError` if the wheel is not installed; it is not imported."""
    for name in ("bfcl_eval", "mpmath"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@cache
def module_of(owner: str) -> ModuleType:
    """The module of a class. Raises `ImportError` where the wheel is not installed."""
    module = import_module(f"{PACKAGE}.{FILES[owner]}")
    if owner == "TravelAPI":
        vars(module)["datetime"] = FixedTime
    return module


def fresh(owner: str, config: Mapping[str, Any], long_context: bool) -> Any:
    """A new instance of a class in the state of `config`, which it does not share with any other."""
    instance: object = vars(module_of(owner))[owner]()
    if owner == STATELESS:
        return instance
    cast("Any", instance)._load_scenario(deepcopy(dict(config)), long_context=long_context)
    if long_context and owner == "TravelAPI":  # its records are the module's own
        own = vars(instance)
        own.update(deepcopy(own))
    return instance


def documents_of_the_wheel(owner: str) -> str:
    """The documents of a class's functions, as the wheel has them: the same as those of the data."""
    require_wheel()
    spec = find_spec("bfcl_eval")
    origin = spec.origin if spec is not None else None
    return (Path(origin or "").parent / DOCUMENTS / f"{FILES[owner]}.json").read_text(encoding="utf-8")


@contextmanager
def guarded(name: str) -> Generator[None]:
    """Surrounds the call of a function, and the rendering of its result, with what keeps the process as it
    was.
    """
    guard = GUARDS.get(name)
    if guard is None:
        yield
        return
    with _SHARED, guard():
        yield


@contextmanager
def _weather() -> Generator[None]:
    """The function writes the temperature into a constant, and returns that."""
    weather = vars(import_module(f"{PACKAGE}.long_context"))["LONG_WEATHER_EXTENSION"]
    before = dict(weather)
    try:
        yield
    finally:
        weather.clear()
        weather.update(before)


@contextmanager
def _precision() -> Generator[None]:
    """The function sets the precision of all of mpmath, by which its result is also shown."""
    context = import_module("mpmath").mp
    before = context.prec
    try:
        yield
    finally:
        context.prec = before


GUARDS = {"get_outside_temperature_from_google": _weather, "logarithm": _precision}
"""Functions that change what all episodes of a process share: they are called one at a time."""
