"""`agentevol feedback environment`: the environment's own opinions of its episodes."""

from typing import Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.trajectories.tables import EXPLORED, Iteration, OnlyPurpose, OnlySplit, Table, open_table

NAMES = ("return", "turn_reward", "efficiency", "valid", "costs")
"""Rules of `agentevol.data.feedback.sources.environment`, which is slow to import."""
Rules = Annotated[
    list[str] | None,
    typer.Option("--rule", help=f"{', '.join(NAMES)}; may be repeated. Default: all but turn_reward."),
]
USUAL = ("return", "efficiency", "valid", "costs")


def add_environment(
    path: Table,
    rules: Rules = None,
    split: OnlySplit = None,
    iteration: Iteration = None,
    purpose: OnlyPurpose = EXPLORED,
    json: AsJson = False,
) -> None:
    """Add the environment's own opinions: return, efficiency, share of valid actions, costs, turns' rewards.

    They are computed from the episodes. What stands already is left out. Other sources are calibrated against
    returns, so that these opinions need not be learnt from: `feedback.sources` says which are.

    Example: agentevol feedback environment runs/first --rule return --rule turn_reward
    """
    from agentevol.data.feedback.opinions import feedback_on
    from agentevol.data.feedback.sources.environment import about
    from agentgym_store.store import Where
    from agentgym_store.urls import named

    for name in rules or ():
        if name not in NAMES:
            raise typer.BadParameter(f"no rule named {name!r}; there are: {', '.join(NAMES)}")
    store, table = open_table(path), feedback_on(named(path))
    chosen = store.trajectories(Where(split=split, iteration=iteration, purpose=purpose))
    shown = store.trajectories(Where(purpose="demonstrate"))
    found = about(chosen, dict.fromkeys(rules or USUAL), table.records(), shown)
    table.append(found.records)
    if json:
        print_json({"added": len(found.records), "known": found.known, "without_return": found.without})
        return
    print(f"{len(found.records):,} opinions added; {found.known:,} were there already")
    if found.without:
        print(f"{found.without:,} episodes without a return have none")
