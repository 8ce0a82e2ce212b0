"""Filter of episodes by the opinions that stand about them.

where = about(Where(purpose="explore"), standing(table.records()), "correction")
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, get_args

from agentgym_store.feedback.records import Feedback, Kind
from agentgym_store.table.where import Where

Wanted = Literal["any", "none"] | Kind
WANTED: tuple[Wanted, ...] = (*get_args(Literal["any", "none"]), *get_args(Kind))
"""`any`: episodes with an opinion, of a comparison both; `none`: those without; else a kind of opinion."""


def episodes_with(opinions: Iterable[Feedback], wanted: Wanted) -> set[str]:
    """Ids of the episodes with an opinion of this kind; for `any` and `none` of any kind."""
    kinds = {wanted} - {"any", "none"}
    return {name for one in opinions if not kinds or one.kind in kinds for name in one.episodes}


def about(where: Where, opinions: Iterable[Feedback], wanted: Wanted) -> Where:
    """The filter, and the wanted opinions as a further condition. `where` has no ids of its own."""
    ids = sorted(episodes_with(opinions, wanted))
    return replace(where, without_ids=ids) if wanted == "none" else replace(where, ids=ids)
