"""The queue for people, and figures of the sources."""

import json
from pathlib import Path

import pytest
from support.trajectories import trajectory
from typer.testing import CliRunner

from agentevol.cli import app
from agentevol.data.feedback.sources.queue import queue
from agentevol.data.feedback.sources.statistics import figures
from agentgym_store.feedback.records import Feedback, feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store

NAMES = [f"e{number}" for number in range(12)]


def score(episode: str, source: str, value: float) -> Feedback:
    opinion = {"kind": "score", "value": value, "low": 0, "high": 1}
    return feedback({"trajectory_id": episode, "source": source, "opinion": opinion})


def better(episode: str, other: str, source: str) -> Feedback:
    opinion = {"kind": "comparison", "other": other, "verdict": "better"}
    return feedback({"trajectory_id": episode, "source": source, "opinion": opinion})


def disputed() -> list[Feedback]:
    """Episode e0 is disputed by 0, e1 by 0.1, ... e9 by 0.9."""
    firsts = [score(name, "judge:m", 0.0) for name in NAMES[:10]]
    return firsts + [score(name, "judge:n", number / 10) for number, name in enumerate(NAMES[:10])]


def test_the_most_disputed_come_first_and_every_fifth_is_drawn() -> None:
    found = list(queue(NAMES, disputed(), {}, person="human:A"))
    assert [one.at_random for one in found[:10]] == [False] * 4 + [True] + [False] * 4 + [True]
    ranked = [one.episode for one in found if not one.at_random]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[0] == "e9"
    assert found[0].disagreement == pytest.approx(0.45)
    assert sorted(one.episode for one in found) == sorted(NAMES)


def test_what_the_person_has_rated_is_left_out_and_others_ratings_are_not() -> None:
    given = [*disputed(), score("e9", "human:A", 1.0), score("e8", "human:B", 1.0)]
    names = [one.episode for one in queue(NAMES, given, {}, person="human:A")]
    assert "e9" not in names
    assert names[0] == "e8"


def test_the_outcome_is_a_source() -> None:
    given = [score("e1", "judge:m", 0.9), score("e2", "judge:m", 0.9)]
    first = next(iter(queue(NAMES, given, {"e1": 1.0, "e2": 0.0, "e3": 1.0})))
    assert (first.episode, first.sources) == ("e2", 2)


def test_the_draw_is_by_the_seed() -> None:
    def drawn(seed: int) -> list[str]:
        return [one.episode for one in queue(NAMES, [], {}, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_figures_of_sources_name_the_one_below_chance() -> None:
    values = {name: number / 11 for number, name in enumerate(NAMES)}
    given = [
        score(name, source, value) for name, value in values.items() for source in ("human:A", "human:B")
    ]
    given += [score(name, "judge:m", 1 - value) for name, value in values.items()]
    given += [better("e1", "e0", "human:A"), better("e2", "e0", "human:A")]
    tokens = {name: 10 * number for number, name in enumerate(NAMES)}
    found = {one.source: one for one in figures(given, {}, tokens).sources}
    assert [found[name].below_chance for name in ("human:A", "human:B", "judge:m")] == [False, False, True]
    assert found["judge:m"].weight == 0
    assert found["human:A"].weight == pytest.approx(0.5)
    assert found["human:A"].tokens == pytest.approx(1)
    assert found["judge:m"].tokens == pytest.approx(-1)
    assert (found["human:A"].comparisons, found["human:B"].comparisons) == (2, 0)
    assert found["human:B"].accuracy is None


def test_agreement_is_krippendorffs_alpha() -> None:
    same = [
        score(name, source, number / 11)
        for number, name in enumerate(NAMES)
        for source in ("human:A", "human:B")
    ]
    assert figures(same, {}, {}).alpha == pytest.approx(1)
    assert figures([], {}, {}).alpha is None


def test_the_commands_print_both(tmp_path: Path) -> None:
    table = tmp_path / "table"
    Store.open(table).append([trajectory(id=name) for name in NAMES], commit={"n": "1"})
    FeedbackTable.beside(table).append(disputed())
    listed = CliRunner().invoke(
        app, ["feedback", "queue", str(table), "--as", "human:A", "--limit", "3", "--json"]
    )
    assert json.loads(listed.output)[0]["episode"] == "e9"
    told = CliRunner().invoke(app, ["feedback", "stats", str(table), "--json"])
    assert [one["source"] for one in json.loads(told.output)["reliability"]["sources"]] == [
        "judge:m",
        "judge:n",
    ]
    refused = CliRunner().invoke(app, ["feedback", "queue", str(table), "--as", "Anna"])
    assert refused.exit_code == 2
    plain = CliRunner().invoke(app, ["feedback", "stats", str(table)])
    assert "20 opinions in 20 records" in plain.output
