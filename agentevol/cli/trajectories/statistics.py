"""`agentevol trajectories stats`: counts and means of a table."""

from typing import TYPE_CHECKING

from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.trajectories.tables import (
    Iteration,
    OnlyPurpose,
    Table,
    WithFeedback,
    open_table,
    where_of,
    with_feedback,
)

if TYPE_CHECKING:
    from agentgym_store.statistics import Group, ModeGroup

HEADER = ("group", "episodes", "scored", "success", "reward", "turns", "tokens")
MODES_HEADER = ("mode", "turns", "share", "tokens", "episodes", "success", "reward")
MALFORMED = "-1"


def stats(
    path: Table,
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    wanted: WithFeedback = None,
    json: AsJson = False,
) -> None:
    """Count episodes by ending, purpose, iteration, environment, task type, difficulty, return, turns and
    sampled tokens, and turns by thinking mode.

    Success and reward are means over the scored episodes, turns and tokens over all. A row of a mode counts
    its turns, with the mean of their sampled tokens, and the episodes with such a turn.

    Example: agentevol trajectories stats runs/first --purpose explore
    """
    from agentgym_store.statistics import MODE_COLUMNS, statistics

    store = open_table(path)
    where = with_feedback(where_of(iteration, purpose), path, wanted)
    found = statistics(store.scan(where), store.turns(MODE_COLUMNS, where))
    if json:
        print_json(found.model_dump())
        return
    # One column names a group: with two, the longest task types of ALFWorld do not fit 80 characters.
    rows = [("all", *_figures(found.total))]
    for name, groups in found.by.items():
        rows.extend((f"{name} {value}", *_figures(group)) for value, group in groups.items())
    print_table(HEADER, rows)
    if found.modes:
        print_table(MODES_HEADER, [_mode(name, group) for name, group in found.modes.items()])


def _figures(group: "Group") -> tuple[str, ...]:
    return (
        f"{group.episodes:,}",
        f"{group.scored:,}",
        _number(group.success_rate, ".1%"),
        _number(group.mean_reward, ".3f"),
        _number(group.mean_turns, ".1f"),
        _number(group.mean_sampled_tokens, ".1f"),
    )


def _mode(name: str, group: "ModeGroup") -> tuple[str, ...]:
    return (
        "malformed" if name == MALFORMED else name,
        f"{group.turns:,}",
        f"{group.share:.1%}",
        _number(group.mean_sampled_tokens, ".1f"),
        f"{group.episodes:,}",
        _number(group.success_rate, ".1%"),
        _number(group.mean_reward, ".3f"),
    )


def _number(value: float | None, pattern: str) -> str:
    return "-" if value is None else format(value, pattern)
