"""Both sides of merging do the same work, and a difference is an error."""

import json
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import merge


def test_both_sides_of_merging_are_measured_on_the_same_sequences_and_prices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def side_here(side: Callable[..., Any], *given: Any) -> Any:
        """The side as a process receives it, without a process of its own that loads torch."""
        side, given = pickle.loads(pickle.dumps((side, given)))
        return side(*given)

    monkeypatch.setattr(merge, "in_a_process", side_here)
    size = merge.Size(iterations=3, episodes=24, turns=4)
    merge.compare(size, (1, 3), json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["size"] == {"iterations": 3, "episodes": 24, "turns": 4}
    for took in found["figures"].values():
        assert [one["iteration"] for one in took] == [1, 3]
        assert took[1]["sequences"] == 3 * took[0]["sequences"] > 0


def test_a_side_of_merging_has_a_process_of_its_own() -> None:
    assert merge.in_a_process(os.getpid) not in {os.getpid(), merge.in_a_process(os.getpid)}


def test_sides_of_merging_that_find_something_else_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    took = [merge.Took(1, 9, (0.1, 0.1), (0.1, 0.1), 1.0)]
    found = [("sha256:1", {"turns": 0.1})]
    for other in ([("sha256:2", {"turns": 0.1})], [("sha256:1", {"turns": 0.2})]):
        sides = iter([took, found, (took, other)])
        monkeypatch.setattr(merge, "in_a_process", lambda *_, sides=sides: next(sides))
        with pytest.raises(RuntimeError, match="iteration 1: the sides found different sequences or prices"):
            merge.compare(merge.Size(), (1,))
