"""`agentevol feedback stats`: counts of opinions, agreement and reliability of their sources."""

from typing import TYPE_CHECKING

from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.trajectories.tables import Table, open_table

if TYPE_CHECKING:
    from agentevol.data.feedback.sources.statistics import SourceFigures

COLUMNS = ("source", "scores", "offset", "sigma", "weight", "with tokens", "comparisons", "right")


def stats(path: Table, json: AsJson = False) -> None:
    """Count the opinions that stand, and tell how far each source can be trusted.

    Offset and sigma of its scores on a scale from 0 to 1, its share of the weight, the correlation of its
    scores with sampled tokens, and the share of its comparisons that are right.

    Example: agentevol feedback stats runs/first
    """
    from agentevol.data.feedback.opinions import feedback_on
    from agentevol.data.feedback.sources.statistics import summary
    from agentgym_store.urls import named

    store = open_table(path)  # a wrong path is told first
    found = summary(feedback_on(named(path)).records(), store)
    if json:
        print_json(found.model_dump(mode="json"))
        return
    told = found.reliability
    for name, counts in (("kind", found.kind), ("source", found.source)):
        print_table((name, "opinions"), sorted(counts.items()))
    if told.sources:
        print_table(COLUMNS, [_row(one) for one in told.sources])
        agreed = "" if told.alpha is None else f"; Krippendorff's alpha {told.alpha:.2f}"
        print(f"{told.shared:,} episodes with scores of several sources{agreed}")
    for one in told.sources:
        if one.below_chance:
            print(f"{one.source} is below chance: with feedback.aggregate=reliability it has no weight")
    print(f"{found.opinions:,} opinions in {found.records:,} records")


def _row(one: "SourceFigures") -> tuple[object, ...]:
    figures = (one.offset, one.sigma, one.weight, one.tokens)
    told = ["" if value is None else f"{value:.2f}" for value in figures]
    right = "" if one.accuracy is None else f"{one.accuracy:.2f}"
    return one.source, one.scores or "", *told, one.comparisons or "", right
