"""Scripted players: `solve`, the expert, and `play`, which looks around first and makes mistakes.

The query of both is the gold: a player who translated questions itself would be a model.
"""

import random
from collections.abc import Sequence

from agentgym_envs.sql.executor.rules import READING, first_word
from agentgym_envs.sql.queries.tokens import tokens
from agentgym_envs.sql.variants.mutants import mutants
from agentgym_envs.tooluse.calls import written

LOOKS_TWICE = 0.7
"""Probability of trying a query before it is submitted, with a care below 1."""


def solve(gold: str, *, writes: bool = False) -> list[str]:
    """Run the gold, unless it `writes`, then submit it."""
    first = written("list_tables") if writes else written("run_sql", sql=gold)
    return [first, written("submit_sql", sql=gold)]


def play(gold: str, tables: Sequence[str], draw: random.Random, care: float) -> list[str]:
    """Read the tables of a question, try a query, submit it; a statement that writes is not tried.

    Each with probability 1 - `care`: a table is not read, a name in the first query is misspelt, which the
    database reports, and a typical mistake is submitted: a dropped condition, a wrong boundary or direction.
    """
    words = {token.value.lower() for token in tokens(gold)}
    needed = [table for table in tables if table.lower() in words]
    actions = [written("list_tables")]
    actions += [written("describe_table", table=table) for table in needed if draw.random() < care]
    reads = first_word(gold) in READING
    if reads and draw.random() >= care:
        actions.append(written("run_sql", sql=_misspelt(gold, draw)))
    answer = gold
    if draw.random() >= care:
        wrong = mutants(gold)
        answer = draw.choice(wrong).sql if wrong else _misspelt(gold, draw)
    if reads and (care == 1.0 or draw.random() < LOOKS_TWICE):
        actions.append(written("run_sql", sql=answer))
    return [*actions, written("submit_sql", sql=answer)]


def _misspelt(gold: str, draw: random.Random) -> str:
    """The query with a letter too much in one of its names."""
    names = [token.text for token in tokens(gold) if token.kind == "word" and token.text.islower()]
    name = draw.choice(names or ["SELECT"])
    return gold.replace(name, f"{name}s", 1)
