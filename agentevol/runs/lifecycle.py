"""Start of runs from a configuration, and resumption from their folder."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from agentevol.config.fitting import fitted
from agentevol.config.mixture import with_fitted
from agentevol.config.run import RunConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.summaries import RunSummary
from agentevol.loop.stages.cloning import settled
from agentevol.loop.state.progress import progress_on
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.rendering import load_tokenizer
from agentevol.models.resolution import pinned, resolve
from agentevol.models.tokenizer_checks import action_tokens, check_words
from agentevol.rollout.environments import (
    Demonstrated,
    opened,
    player_episodes,
    served_counts,
    task_counts,
)
from agentevol.runs.launch import check, check_name, check_scored, launch
from agentevol.runs.population import evolve_population
from agentevol.runs.population_plan import check_members
from agentevol.runs.selecting_scores import check_answers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def run(config: RunConfig, *, out: Path | str | None = None, console: Console | None = None) -> RunSummary:
    """Run `config` in the new folder `out` and return the figures of its iterations.

    `out` is `runs/NAME-DATE` by default. Progress is written to `console`, standard error by default. Raises
    `ConfigError` where no run can begin, `RunStopped` where it ends itself; `resume` continues such a run.
    """
    config = prepared(config)
    path = Path(out) if out is not None else default_folder(config)
    return _launched(RunFolder.create(path, config, resolve(config.base)), path, console)


def resume(folder: Path | str, *, console: Console | None = None) -> RunSummary:
    """Finish the run in `folder`, by its own configuration, and return the figures of all its iterations.

    Raises `ConfigError` where there is no run, or where another process runs it.
    """
    path = Path(folder)
    return _launched(RunFolder.resume(path), path, console)


def prepared(config: RunConfig, *, here: bool = True) -> RunConfig:
    """The configuration with all settings resolved that depend on the environment and the base.

    Raises `ConfigError` as `check` does, for splits and difficulties that the environment does not have, and
    for a base whose vocabulary lacks the environment's words.
    """
    found = {name: _fitted_in(one, here=here) for name, one in config.by_environment.items()}
    config = with_fitted(config, {name: one.config for name, one in found.items()})
    check(config, here=here)
    base = resolve(config.base, weights=here)
    tokenizer = load_tokenizer(base.path)
    for name, one in found.items():
        told = [message for episode in one.played for message in episode.told]
        check_words(config.base, tokenizer, told, name)
    new_tokens = max(_action_tokens(one, tokenizer) for one in found.values())
    explore = config.explore.model_copy(update={"max_new_tokens": new_tokens})
    config = settled(config.model_copy(update={"base": pinned(config.base), "explore": explore}), base.path)
    if config.population is not None:
        check_members(config)
    return config


class _Fitted(NamedTuple):
    """Configuration that fits an environment, and some episodes of its player."""

    config: RunConfig
    played: Sequence[Demonstrated]


def _fitted_in(config: RunConfig, *, here: bool) -> _Fitted:
    """The configuration of a run in one environment, fitted to its tasks."""
    check_name(config.environment)
    played: list[Demonstrated] = []
    if config.environment.url is None:
        with opened(config.environment) as environment:
            check_scored(config, environment.scored)
            config = fitted(config, task_counts(environment), strict=here)
            if config.explore_split in environment.splits:
                form = action_format(config.environment.format)
                played = player_episodes(environment, config.explore_split, config.explore.difficulty, form)
            check_answers(config, [one.actions for one in played], environment.max_turns)
    elif here:
        config = fitted(config, served_counts(config.environment.url, config.environment.name))
    return _Fitted(config, played)


def _action_tokens(found: _Fitted, tokenizer: "PreTrainedTokenizerBase") -> int:
    """Maximum tokens of an action in the environment."""
    messages = [message for one in found.played for message in one.messages]
    return found.config.explore.max_new_tokens or action_tokens(tokenizer, messages)


def default_folder(config: RunConfig) -> Path:
    """Default folder with the run's name and the time."""
    return Path("runs") / f"{config.name}-{datetime.now():%Y%m%d-%H%M%S}"


def _launched(folder: RunFolder, path: Path, console: Console | None) -> RunSummary:
    progress = progress_on(console)
    progress.say(
        f"run {folder.config.name} in {path}; watch it with: agentevol ui {path};"
        f" resume it with: agentevol run --resume {path}"
    )
    for note in folder.notes:
        progress.say(f"config.toml: {note}")
    with folder, progress.recorded(folder.path):
        return (launch if folder.config.population is None else evolve_population)(folder, progress)
