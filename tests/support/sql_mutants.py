"""Mutants of generated golds: `mutants_differ`."""

import sqlite3

from agentgym_envs.sql.comparison.expectation import expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.generator.batches import Batch
from agentgym_envs.sql.variants.mutants import mutants
from agentgym_envs.sql.variants.schema import read_schema


def mutants_differ(batch: Batch) -> list[bool]:
    """For each mutant of the golds of a batch, whether it differs from its gold."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(batch.sources[0].image)
    tables, differ = read_schema(connection), list[bool]()
    connection.close()
    for task in batch.tasks:
        gold = task.draft.query.sql
        databases = [batch.sources[place].opened() for place in task.counting]
        allowed = [expected(one, gold) for one in databases]
        differ += [
            not all(
                matches(one.run(mutant.sql), right) for one, right in zip(databases, allowed, strict=True)
            )
            for mutant in mutants(gold, tables)
        ]
    return differ
