"""`agentevol feedback queue`: the episodes that a person should rate next."""

from typing import Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.trajectories.tables import EXPLORED, Iteration, OnlyPurpose, OnlySplit, Table, open_table

Person = Annotated[str, typer.Option("--as", help="Who rates: human:NAME. What they have rated is left out.")]
Limit = Annotated[int, typer.Option(min=1, help="Number of episodes.")]
Seed = Annotated[int, typer.Option(help="Of the fifth that is drawn at random.")]
COLUMNS = ("episode", "disagreement", "sources", "drawn")


def show_queue(
    path: Table,
    person: Person,
    limit: Limit = 20,
    seed: Seed = 0,
    split: OnlySplit = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = EXPLORED,
    json: AsJson = False,
) -> None:
    """List episodes to rate: where sources, the outcome among them, disagree most; every fifth at random.

    Example: agentevol feedback queue runs/first --as human:Anna
    """
    from itertools import islice

    from agentevol.data.feedback.opinions import feedback_on
    from agentevol.data.feedback.sources.queue import following
    from agentgym_store.feedback.latest import standing
    from agentgym_store.store import Where
    from agentgym_store.urls import named

    if not person.startswith("human:") or not person.removeprefix("human:"):
        raise typer.BadParameter(f"--as names a person, as human:Anna, not {person!r}")
    where = Where(split=split, iteration=iteration, purpose=purpose)
    rows = dict(open_table(path).rows(("id", "total_reward"), where))
    opinions = standing(feedback_on(named(path)).records())
    found = list(islice(following(rows, opinions, person=person, seed=seed), limit))
    if json:
        print_json([vars(one) for one in found])
        return
    told = ("", "at random")
    print_table(
        COLUMNS,
        [(one.episode, f"{one.disagreement:.2f}", one.sources, told[one.at_random]) for one in found],
    )
    scored = sum(reward is not None for reward in rows.values())
    print(f"{len(found):,} of {scored:,} episodes; rate with `agentevol ui`, or `agentevol feedback add`")
