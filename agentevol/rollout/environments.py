"""In-process access to an environment without a server: its tasks, and the messages of its players."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agentevol.config.fitting import TaskCounts
from agentevol.config.presets.defaults import BY_ENVIRONMENT
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.errors import ConfigError, FormatFault, one_line
from agentevol.core.protocols import NEW_TOKENS
from agentevol.core.splits import spread
from agentevol.models.tokenizer_checks import action_tokens
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError
from agentgym_envs.core import Environment, Task
from agentgym_envs.formats import PLAIN, THOUGHT, ActionFormat, after_thinking
from agentgym_envs.registry import environment_class, make, names
from agentgym_store.records import Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SHOWN_TASKS = 16
"""Number of tasks whose demonstrations are read to find the format of actions."""


@contextmanager
def opened(config: EnvironmentConfig) -> Iterator[Environment[Any]]:
    """An instance of the environment. Raises `ConfigError` for options that it refuses."""
    try:
        environment = make(config.name, **config.options)
    except (TypeError, ValueError, OSError) as cause:
        raise ConfigError(f"environment.options: {config.name}: {one_line(cause)}") from cause
    try:
        yield environment
    finally:
        environment.close()


def reward_columns(
    environments: Sequence[EnvironmentConfig],
) -> Mapping[str, Callable[[Trajectory], object]]:
    """Columns of reward functions that are private fields of the run's own tasks, None for tasks of an
    environment without such a field; none on a running server, which keeps them to itself.
    """
    own = {
        one.name: (one, environment_class(one.name).reward_columns) for one in environments if one.url is None
    }
    fields: dict[tuple[str, str], Mapping[str, object]] = {}

    def read(column: str, episode: Trajectory) -> object:
        place = episode.env, episode.task_id
        if place not in fields:
            config, columns = own[episode.env]
            with opened(config) as environment:
                task = environment.task(episode.task_id)
                fields[place] = {name: getattr(task, name) for name in columns}
        return fields[place].get(column)

    names = dict.fromkeys(column for _, columns in own.values() for column in columns)
    return {column: partial(read, column) for column in names}


def task_counts(environment: Environment[Any]) -> TaskCounts:
    """Task counts of an environment. `size` raises `ConfigError` where the data of a split are missing."""

    def size(split: str, difficulty: str | None) -> int:
        try:
            return len(environment.tasks(split, difficulty))
        except (LookupError, ValueError, OSError) as cause:
            raise ConfigError(f"{environment.name}, split {split!r}: {one_line(cause)}") from cause

    return TaskCounts(environment.name, environment.splits, environment.difficulties, size, environment.seats)


def served_counts(url: str, name: str) -> TaskCounts:
    """Task counts of an environment on a running server."""

    def size(split: str, difficulty: str | None) -> int:
        if difficulty is None:
            return info.splits[split]
        with EnvClient.sync(url) as client:
            return client.tasks(name, split, difficulty=difficulty, limit=1).total

    try:
        with EnvClient.sync(url) as client:
            found = {one.env: one for one in client.environments()}
    except EnvClientError as cause:
        raise ConfigError(f"environment.url: {one_line(cause)}") from cause
    if name not in found:
        raise ConfigError(f"environment.name: no {name!r} at {url}; there are: {', '.join(sorted(found))}")
    info = found[name]
    return TaskCounts(name, tuple(info.splits), info.difficulties, size, info.seats)


class Demonstrated(NamedTuple):
    """A player's episode."""

    told: list[str]
    """Its messages, as it writes them."""
    actions: list[str]
    messages: list[str]
    """Its messages in an action format."""


def demonstrated(
    environment: Environment[Any], task: Task, seed: int, care: float, form: ActionFormat
) -> Demonstrated:
    """Actions and messages of the environment's player; in thinking modes of the player that writes them
    itself, where there is one, and otherwise without thoughts.

    Raises `ConfigError` as `demonstration` does, and `FormatFault`.
    """
    if modes := getattr(form, "modes", ()):
        try:
            told = environment.demonstrate_in_modes(task, seed, care, modes)
        except NotImplementedError:
            pass
        else:
            return Demonstrated(told, [form.parse(message) for message in told], told)
    told = demonstration(environment, task, seed, care)
    return Demonstrated(told, [after_thinking(one) for one in told], as_messages(told, form))


def demonstration(environment: Environment[Any], task: Task, seed: int, care: float = 1.0) -> list[str]:
    """Messages of the environment's demonstrating player, or of its expert where it has no such player.

    Raises `ConfigError` where it has neither, or where the expert does not know this task.
    """
    try:
        return environment.demonstrate(task, seed, care)
    except NotImplementedError:
        actions = environment.expert(task)
    if actions is None:
        raise ConfigError(
            f"{environment.name} has neither a demonstrating player nor an expert for {task.id!r}: give"
            " base=MODEL"
        )
    return actions


def player_episodes(
    environment: Environment[Any], split: str, difficulty: str | None, form: ActionFormat = PLAIN
) -> list[Demonstrated]:
    """Careful demonstrations of some tasks of a split; none of an environment without players.

    Raises `ConfigError` where a player fails, and `FormatFault`.
    """
    tasks: Sequence[Task] = environment.tasks(split, difficulty)
    try:
        return [
            demonstrated(environment, tasks[position], position, 1.0, form)
            for position in spread(SHOWN_TASKS)(len(tasks))
        ]
    except ConfigError:
        return []
    except FormatFault:
        raise
    except Exception as cause:  # whatever the environment's own code raises
        raise ConfigError(f"{environment.name}: its player failed: {one_line(cause)}") from cause


def as_messages(messages: Sequence[str], form: ActionFormat) -> list[str]:
    """A player's messages with their actions written in a format, after their reasoning. Raises
    `FormatFault`.
    """
    return [_as_message(message, form) for message in messages]


def _as_message(message: str, form: ActionFormat) -> str:
    thought, mark, answer = message.rpartition(THOUGHT)
    action = answer.strip()
    return thought + mark + answer.replace(action, form.render(action), 1)


def usual_action_tokens(config: EnvironmentConfig, tokenizer: "PreTrainedTokenizerBase") -> int:
    """Default maximum tokens of an action for runs in this environment."""
    preset = BY_ENVIRONMENT.get(config.name, {}).get("explore", {}).get("max_new_tokens")
    form = action_format(config.format)
    if preset is not None and not form.modes:  # thoughts take many more
        return preset
    if config.url is not None and config.name not in names():
        return NEW_TOKENS
    with opened(config) as environment:
        played = player_episodes(environment, environment.splits[0], None, form)
    return action_tokens(tokenizer, [message for one in played for message in one.messages])
