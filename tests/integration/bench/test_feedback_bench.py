"""Operations of the benchmark of feedback, on a small table."""

from pathlib import Path

from agentevol.cli.benchmarks.feedback.work import EPISODES, OPERATIONS, RULES
from agentevol.cli.benchmarks.store.work import measure


def test_each_operation_concerns_what_it_says(tmp_path: Path) -> None:
    results = {
        name: measure(name, tmp_path, 100 if name == EPISODES else 200, OPERATIONS).result
        for name in OPERATIONS
    }
    assert (results[EPISODES], results["append"], results["read"]) == (100, 200, 200)
    # 20 episodes are scored, 12 turns of others, and 8 pairs are compared, each by five sources
    assert results["join with turns"] == 12
    assert results["join with episodes"] == 40
    assert all(results[f"aggregate by {rule}"] > 0 for rule in RULES)
