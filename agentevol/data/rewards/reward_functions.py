"""Reward functions by name: scores of explored episodes that need no model of the run.

A user's function has the same signature. It is given as `reward.function = "module:attribute"`, or registered
by an entry point of the group `agentevol.rewards`:

    def short_wins(episodes: Sequence[Trajectory], *, turns: int = 10) -> list[float]:
        return [float(t.succeeded() and len(t.turns) <= turns) for t in episodes]

Keyword-only arguments are options (`reward.options.turns`). A function with an argument `completions` is
called as TRL calls one: with lists of `prompts` and `completions`, and further `COLUMNS` by name.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Annotated, Any, get_type_hints

import numpy as np
from pydantic import Field

from agentevol.config.rewards.registries import REWARDS
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.options import Fraction, NotNegative, check_option, options_of, unbound
from agentevol.core.errors import ConfigError, RunStopped, described
from agentevol.data.rewards.metrics import correlation, rank_correlation
from agentevol.data.selection.filters import sampled_tokens, scored
from agentevol.learn.rewards import good_accuracy as accuracy
from agentgym_store.records import Trajectory

OF_RETURNS = ("success", "discounted_return", "good_accuracy")
"""Functions of the package that read the returns of episodes."""

RewardFunction = Callable[..., Sequence[float]]
"""Function from episodes that have a return, and options, to one finite number each, in their order. Pure:
equal episodes get equal numbers, and their order changes nothing.
"""


def _prompt(episode: Trajectory) -> str:
    return "\n".join(filter(None, (episode.instruction, episode.initial_observation)))


def replies(episode: Trajectory) -> list[str]:
    """Texts of the agent's turns: what the model said, or the action of a scripted turn."""
    return [turn.action if turn.sample is None else turn.sample.text for turn in episode.turns]


Size = Annotated[int, Field(ge=1)]
"""Number of words of an n-gram."""
Columns = Mapping[str, Callable[[Trajectory], object]]
"""Values of an episode by the name of a column."""

COLUMNS: Columns = {
    "prompts": _prompt,
    "completions": lambda episode: "\n".join(replies(episode)),
    **{
        name: lambda episode, name=name: getattr(episode, name)
        for name in ("env", "task_id", "split", "kind", "difficulty", "instruction", "total_reward")
    },
}
"""Columns of functions in TRL's convention."""


def success(episodes: Sequence[Trajectory]) -> list[float]:
    """1 for the maximum return, 0 otherwise."""
    return [float(episode.succeeded()) for episode in episodes]


def discounted_return(episodes: Sequence[Trajectory], *, discount: Fraction = 0.95) -> list[float]:
    """The return, times `discount` for every turn after the first: sooner is better."""
    return [(episode.total_reward or 0.0) * discount ** (len(episode.turns) - 1) for episode in episodes]


def good_accuracy(
    episodes: Sequence[Trajectory],
    *,
    penalty_scale: NotNegative = 0.1,
    max_penalty: float = -0.5,
    n: Size = 4,
) -> list[float]:
    """1 for success, otherwise a small penalty for repeated word n-grams (arXiv:2510.18913)."""
    return [
        accuracy.good_accuracy(
            episode.succeeded(),
            " ".join(replies(episode)),
            penalty_scale=penalty_scale,
            max_penalty=max_penalty,
            n=n,
        )
        for episode in episodes
    ]


def reward_function(
    name: str, options: Mapping[str, Option] | None = None, more: Columns | None = None
) -> RewardFunction:
    """Return the function of this name with `options` bound; it takes episodes alone. `more` are columns
    beyond `COLUMNS`, such as the answers of questions.

    Raises `ConfigError` where there is none, where the object is no function of episodes, and for an option
    that it does not have or cannot take.
    """
    function = REWARDS.load(name)
    if "completions" in (arguments := _arguments(function)):
        known = {**COLUMNS, **(more or {})}
        columns = {column: known[column] for column in _columns(name, arguments, known)}
        return _bound(name, partial(_by_columns, function, columns), function, options)
    function = REWARDS.function(name, "episodes")
    return _bound(name, function, function, options)


def option_types(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of the keyword-only arguments, which are options; `Any` where there is no annotation."""
    hints = get_type_hints(unbound(function), include_extras=True)
    return {name: hints.get(name, Any) for name in options_of(function) if name not in COLUMNS}


def episode_scores(name: str, function: RewardFunction, episodes: Sequence[Trajectory]) -> dict[str, float]:
    """Episode -> number of the bound function `name`; episodes without a return have none.

    Raises `RunStopped` where it raises, or gives something else than a finite number for each episode.
    """
    known = sorted(scored(episodes), key=lambda episode: episode.id)
    try:
        found = list(function(known))
    except Exception as cause:  # whatever a user's function raises
        raise RunStopped(f"reward function {name!r} raised {described(cause)}") from cause
    if len(found) != len(known):
        raise RunStopped(f"reward function {name!r} gave {len(found)} numbers for {len(known)} episodes")
    return {
        episode.id: finite(f"reward function {name!r}", value, episode.id)
        for episode, value in zip(known, found, strict=True)
    }


def finite(what: str, value: object, of: str) -> float:
    """The value as a number. Raises `RunStopped`, naming `what` gave it and `of` what, for another object
    than a finite number.
    """
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise RunStopped(f"{what} gave {value!r} for {of}, not a finite number")
    return float(value)


def score_figures(episodes: Sequence[Trajectory], scores: Mapping[str, float]) -> dict[str, float]:
    """Metrics of scores: their mean, and their correlation with returns and lengths where there is one."""
    known = [episode for episode in scored(episodes) if episode.id in scores]
    if not known:
        return {}
    score = np.asarray([scores[episode.id] for episode in known], np.float64)
    returns = np.asarray([episode.total_reward for episode in known], np.float64)
    tokens = np.asarray([sampled_tokens(episode) for episode in known], np.float64)
    found = {
        "reward_score": float(score.mean()),
        "reward_return_correlation": rank_correlation(score, returns),
        "reward_token_correlation": correlation(score, tokens),
    }
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _arguments(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # no function, or a builtin one
        return {}


def _columns(name: str, arguments: Mapping[str, inspect.Parameter], known: Columns) -> list[str]:
    """Columns that a function in TRL's convention takes; all of them with `**kwargs`."""
    needed = [
        argument.name
        for argument in arguments.values()
        if argument.default is argument.empty
        and argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY)
    ]
    if unknown := [column for column in needed if column not in known]:
        raise ConfigError(
            f"reward function {name!r} needs the column {unknown[0]!r}; there are: {', '.join(known)}"
        )
    takes_all = any(argument.kind is argument.VAR_KEYWORD for argument in arguments.values())
    return [column for column in known if takes_all or column in arguments]


def _by_columns(
    function: Callable[..., Sequence[float]],
    columns: Columns,
    episodes: Sequence[Trajectory],
    **options: Option,
) -> Sequence[float]:
    given = {name: [read(episode) for episode in episodes] for name, read in columns.items()}
    return function(**given, **options)


def _bound(
    name: str,
    call: RewardFunction,
    function: Callable[..., Any],
    options: Mapping[str, Option] | None,
) -> RewardFunction:
    known = option_types(function)
    for option, value in (options or {}).items():
        check_option(name, option, value, known)
    return partial(call, **(options or {}))
