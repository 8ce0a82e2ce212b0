"""Mutants of the golds of all generated test tasks."""

import pytest

from agentgym_envs.sql.generator.batches import batch
from tests.support.sql_mutants import mutants_differ


@pytest.mark.slow
def test_most_mutants_of_generated_golds_differ_from_them() -> None:
    levels = ("easy", "medium", "hard", "extra")
    differ = [
        one
        for level in levels
        for number in range(20)
        for one in mutants_differ(batch("test", level, number))
    ]
    print(f"\n{differ.count(True):,} of {len(differ):,} mutants differ from their golds")  # noqa: T201
    assert differ.count(True) >= 0.95 * len(differ)
    assert len(differ) > 2000
