"""The benchmarks compare like with like, and say when they do not."""

import dataclasses
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentevol.cli import app
from agentevol.cli.bench import NAMES
from agentevol.cli.benchmarks import startup, store
from agentevol.cli.benchmarks.env import alfworld
from agentevol.cli.benchmarks.figures import Figure, ratio
from agentevol.cli.benchmarks.store import work

store_bench = import_module("agentevol.cli.benchmarks.store.main")


def test_a_figure_is_a_median_with_its_range() -> None:
    figure = Figure("native", "steps/s", (30_000.0, 10_000.0, 20_000.0))
    assert str(figure) == "native: 20,000 steps/s (10,000 to 30,000 in 3 runs)"
    assert figure.as_json()["low"] == 10_000.0


def test_a_ratio_is_taken_run_by_run() -> None:
    assert ratio("a / b", [8.0, 30.0], [2.0, 10.0]).runs == (4.0, 3.0)


def test_a_script_is_played_the_same_twice() -> None:
    script = alfworld.scripts()[0]
    (_, first), (_, second) = alfworld.native(script), alfworld.native(script)
    assert first == second
    assert alfworld.differences(first, second) == 0
    assert len(first.observations) == len(script.commands) + 1


def test_one_word_or_one_command_that_differs_is_counted() -> None:
    _, heard = alfworld.native(alfworld.scripts()[0])
    other = dataclasses.replace(heard, observations=("You are lost.", *heard.observations[1:]))
    assert alfworld.differences(heard, other) == 1
    fewer = dataclasses.replace(heard, admissible=(heard.admissible[0][:-1], *heard.admissible[1:]))
    assert alfworld.differences(heard, fewer) == 1


def test_a_problem_declares_each_name_by_its_place() -> None:
    game = alfworld.scripts()[0].game
    small = dataclasses.replace(
        game,
        facts=("receptacleType r1 DeskType", "inReceptacle o1 r1", "atLocation agent1 l1"),
        goal="(:goal))",
    )
    assert alfworld.problem(small) == (
        "(define (problem p) (:domain alfred) (:objects ButterKnifeType - otype DeskType - rtype "
        "FridgeType - rtype KnifeType - otype MicrowaveType - rtype SinkBasinType - rtype agent1 - agent "
        "l1 - location o1 - object r1 - receptacle) "
        "(:init (receptacleType r1 DeskType) (inReceptacle o1 r1) (atLocation agent1 l1)) (:goal))"
    )


def test_start_up_is_measured_beside_an_empty_interpreter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr(startup, "seconds", lambda _: float(next(ticks)))
    startup.main(json=True)
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert [figure["what"] for figure in figures] == list(startup.PROGRAMS)
    assert figures[0]["runs"] == [3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0]  # the first round warms up
    assert [figure["budget_s"] for figure in figures] == [None, 0.4, 0.6]


def test_every_name_of_the_command_is_a_module() -> None:
    assert [name for name in NAMES if find_spec(f"agentevol.cli.benchmarks.{name}") is None] == []
    assert find_spec("agentevol.cli.benchmarks.nothing") is None


@pytest.mark.parametrize(
    "words",
    [
        ["store", "--engine", "vllm"],
        ["learn", "--size", "large"],
        ["store", "--openenv", __file__],
        ["learn", "--turns", "5"],
    ],
)
def test_an_option_of_another_benchmark_is_refused(words: list[str]) -> None:
    result = CliRunner().invoke(app, ["bench", *words])
    assert result.exit_code == 2
    assert f"No such option: {words[1]}" in result.output


def test_the_store_is_measured_at_two_sizes_and_beside_plain_parquet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_bench, "in_a_process", work.measure)
    store.main(json=True, turns=240, plain_episodes=3)
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["episodes"], found["turns"]) == (20, 240)
    lines = {line["operation"]: line for line in found["operations"]}
    assert list(lines) == list(work.OPERATIONS)
    results = {name: (line["tenth"]["result"], line["whole"]["result"]) for name, line in lines.items()}
    assert results == {
        "append": (2, 20),
        "stats": (2, 20),
        "filter": (0, 1),
        "sql of episodes": (2, 20),
        "sql of turns": (5, 5),
        "export": (2, 20),
        "compact": (0, 0),
    }
    assert (lines["append"]["budget_s"], lines["export"]["budget_s"]) == (0.003, pytest.approx(0.012))
    assert all(line["whole"]["peak_mib"] > 1 for line in lines.values())
    plain = found["plain"]
    figures = {figure["what"]: figure for figure in plain["figures"]}
    append = figures["append"]
    assert (plain["episodes"], plain["budget_s"]) == (3, pytest.approx(0.00045))
    assert append["plain_over_store"] == pytest.approx(append["plain_s"] / append["store_s"])
    assert figures["export as JSON Lines"]["plain_over_store"] is None
    assert "growth" in captured.err  # the table for people


@pytest.mark.parametrize(
    ("seconds", "budget_s", "growth", "is_kept"),
    [((1.0, 9.0), None, 0.9, True), ((1.0, 20.0), None, 2.0, False), ((1.0, 20.0), 20.0, 2.0, True)],
)
def test_a_figure_is_held_against_its_budget_or_the_growth_of_the_table(
    seconds: tuple[float, float], budget_s: float | None, growth: float, is_kept: bool
) -> None:
    tenth, whole = (work.Measured(time, time, 10.0, 1) for time in seconds)  # alone on its core
    line = store_bench.Line("stats", tenth, whole, 10.0, budget_s)
    assert (line.growth, line.is_kept) == (growth, is_kept)
    assert ("MISSED" in line.row()) is not is_kept


def test_an_operation_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    assert work.in_a_process("append", tmp_path, 3).result == 3
    with pytest.raises(RuntimeError, match=r"export of 3 failed(?s:.*)there is no table"):
        work.in_a_process("export", tmp_path / "none", 3)
