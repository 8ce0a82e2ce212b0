"""`agentevol trajectories`: a run's table of episodes, exports of it and imports into one."""

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentevol.cli.console.output import AsJson, print_json, print_json_line, print_table, printable
from agentevol.cli.trajectories.compaction import compact
from agentevol.cli.trajectories.export import export
from agentevol.cli.trajectories.importing import import_episodes
from agentevol.cli.trajectories.statements import sql
from agentevol.cli.trajectories.statistics import stats
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
    from agentgym_store.records import Trajectory
    from agentgym_store.store import Store

app = typer.Typer(no_args_is_help=True, help="Read and tidy the table of a run's episodes.")

LISTED: dict[str, str] = {
    "id": "id",
    "env": "env",
    "task_id": "task",
    "purpose": "purpose",
    "iteration": "iteration",
    "ending": "ending",
    "total_reward": "reward",
    "turn_count": "turns",
}
"""Columns of the table that `list` prints, and their headings."""
PAGE = 1_000
"""Rows that `list` holds in memory: the rows under one header."""


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="trajectories")


@app.command("list")
def list_episodes(
    path: Table,
    ending: Annotated[
        Literal["terminated", "truncated", "failed", "cancelled"] | None,
        typer.Option(help="Only episodes with this ending."),
    ] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")] = None,
    min_reward: Annotated[float | None, typer.Option(help="Only episodes with this return or more.")] = None,
    max_reward: Annotated[float | None, typer.Option(help="Only episodes with this return or less.")] = None,
    env: Annotated[str | None, typer.Option(help="Only this environment.")] = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    wanted: WithFeedback = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this number of episodes; default: all.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """List episodes in the order in which they were stored; `show` prints one of them.

    Failed and cancelled episodes have no reward, and so are in no range of rewards. A terminal that is too
    narrow shows fewer columns.

    Example: agentevol trajectories list runs/first --ending truncated --max-reward 0 --limit 20
    """
    from agentgym_store.store import Where

    where = Where(
        ending=ending,
        task_ids=task or None,
        min_reward=min_reward,
        max_reward=max_reward,
        env=env,
        iteration=iteration,
        purpose=purpose,
    )
    table = open_table(path)
    found = table.rows(tuple(LISTED), with_feedback(where, path, wanted))
    first = islice(found, limit)
    if json:
        for row in first:
            print_json_line(_members(row))
        return
    count = 0
    while page := [_cells(*row) for row in islice(first, PAGE)]:
        print_table(tuple(LISTED.values()), page, spare=("task", "purpose", "iteration"))
        count += len(page)
    more = next(found, None) is not None
    print(f"the first {count:,} episodes; there are more" if more else f"{count:,} episodes")


app.command()(stats)


@app.command()
def show(
    path: Table,
    episode: Annotated[str, typer.Argument(help="Id of an episode, or the beginning of it.")],
    json: AsJson = False,
) -> None:
    """Print one episode turn by turn.

    Example: agentevol trajectories show runs/first train/small/17
    """
    found = find(open_table(path), episode)
    if json:
        print(found.model_dump_json(indent=2))
        return
    print("\n".join(transcript(found)))


app.command()(export)
app.command("import")(import_episodes)
app.command()(sql)
app.command()(compact)


@app.command()
def score(
    path: Table,
    model: Annotated[Path, typer.Argument(help="A reward model: a checkpoint of algorithm=bradley_terry.")],
    caution: Annotated[
        list[str] | None,
        typer.Argument(metavar="[key=value]...", help="combination, kappa, penalty, weights.OBJECTIVE."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write each episode's score here, as JSON Lines.")] = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    json: AsJson = False,
) -> None:
    """Score episodes by a reward model, cautiously where its members disagree, and judge the scores.

    Example: agentevol trajectories score runs/first judge combination=lcb kappa=2 --purpose evaluate
    """
    from agentevol.config.rewards.reward import CautionConfig
    from agentevol.config.run import load
    from agentevol.config.sections.learner import LearnConfig
    from agentevol.core.protocols import Checkpoint
    from agentevol.data.rewards.reward_model import figures, judge, sequences_to_judge, write_judgements
    from agentevol.learn.heads.reward_scale import load_scale
    from agentevol.learn.learner import GradientLearner

    if out is not None and out.exists():
        raise FileExistsError(17, "the file exists", str(out))
    settings, scale = load(None, caution or [], CautionConfig), load_scale(model)
    scale.weights(settings.weights)  # a wrong name is reported before anything is read
    episodes = list(open_table(path).trajectories(where_of(iteration, purpose)))
    said = GradientLearner(LearnConfig()).scores(Checkpoint(model, 0), sequences_to_judge(episodes))
    judged = judge(scale, said, settings)
    if out is not None:
        write_judgements(episodes, judged, out)
    found = {**figures(episodes, judged), "spread_learnt": scale.spread}
    if json:
        print_json({name: _finite(value) for name, value in found.items()})
        return
    rows = [(name, _number(_finite(value), ".4g")) for name, value in found.items()]
    print_table(("figure", settings.combination), rows)


def find(store: "Store", wanted: str) -> "Trajectory":
    """The episode with this id, or the only one with this id prefix or task.

    Raises `ConfigError` if there is none or several.
    """
    from agentevol.core.errors import ConfigError
    from agentgym_store.store import Where

    ids = store.scan().select("id", "task_id").collect()
    exact = [name for name, _ in ids.rows() if name == wanted]
    near = exact or [name for name, task in ids.rows() if name.startswith(wanted) or task == wanted]
    if len(near) != 1:
        example = f"; for example {(near or ids['id'].to_list())[0]!r}" if ids.height else ""
        raise ConfigError(f"{len(near)} episodes are named {wanted!r}; give one id{example}")
    return next(store.trajectories(Where(ids=near)))


def transcript(episode: "Trajectory") -> Iterator[str]:
    """Lines of an episode for a terminal. Control characters are escaped: model output is data."""
    yield f"{episode.id}: {episode.env} {episode.task_id} ({episode.kind or 'task'}, seed {episode.seed})"
    yield f"policy {episode.policy}, iteration {episode.iteration}, {episode.purpose}, {episode.wall_s:.1f} s"
    yield from ("", printable(episode.instruction), "", printable(episode.initial_observation))
    for number, turn in enumerate(episode.turns, start=1):
        tokens = f"  [{len(turn.sample.token_ids)} tokens]" if turn.sample else ""
        reward = f"  reward {turn.reward:g}" if turn.reward else ""
        costs = "".join(f"  {printable(name)} {_cost(cost)}" for name, cost in turn.costs.items())
        given = "  (given)" if number <= episode.given_turns else ""
        yield f"\n{number:3}> {printable(turn.action)}{tokens}{reward}{costs}{given}"
        yield printable(turn.observation)
    details = episode.ending.model_dump(exclude={"kind"})
    reason = "".join(f", {name} {value}" for name, value in details.items() if value)
    total = episode.total_reward
    yield f"\n{episode.ending.kind}{reason}; return {'none' if total is None else f'{total:g}'}"


def _cost(cost: float | None) -> str:
    return "not judged" if cost is None else f"{cost:g}"


def _members(row: tuple[Any, ...]) -> dict[str, object]:
    """A row of `LISTED` by the table's own names; null for a return that is not finite."""
    named = dict(zip(LISTED, row, strict=True))
    reward: float | None = named["total_reward"]
    return {**named, "total_reward": None if reward is None else _finite(reward)}


def _cells(*row: Any) -> tuple[Any, ...]:
    """A row of `LISTED` as `list` prints it."""
    *known, reward, turns = row
    return (*known, _number(reward, "g"), turns)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None, pattern: str) -> str:
    return "-" if value is None else format(value, pattern)
