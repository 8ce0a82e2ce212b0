"""Experiments of the benchmark `evolution`: table, kept outcomes, and the settings of their runs."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.cli.benchmarks.evolution import feedback, mixed, population, self_judgement
from agentevol.cli.benchmarks.evolution.experiment import Column, Experiment, Row, Scale
from agentevol.cli.benchmarks.evolution.main import EXPERIMENTS, main
from agentevol.cli.benchmarks.evolution.table import table
from agentevol.cli.benchmarks.spreads import spread
from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

ROWS = [
    Row(arm="new", seed=0, figures={"success": 60.0, "auc": 0.5}, curves={"auc": [0.5, 0.7]}),
    Row(arm="new", seed=1, figures={"success": 70.0, "auc": 0.7}, curves={"auc": [0.7, 0.9, 0.95]}),
    Row(arm="old", seed=0, figures={"success": 50.0}),
    Row(arm="old", seed=1, figures={"success": 50.0}),
]


class Tossed:
    """Experiment whose figures are its seed."""

    def __init__(self) -> None:
        self.prepared, self.made = list[Scale](), list[tuple[str, int]]()

    @property
    def experiment(self) -> Experiment:
        return Experiment(
            title="seeds",
            arms=("old", "new"),
            control="old",
            columns=(Column("success", "success %", 1), Column("auc", "AUC", 2)),
            curves={"auc": "AUC"},
            parts=("old", "new"),
            prepare=self.prepare,
            rows=self.rows,
        )

    def prepare(self, folder: Path, scale: Scale) -> None:
        (folder / "model").touch()
        self.prepared.append(scale)

    def rows(self, part: str, seed: int, common: Path, folder: Path, _scale: Scale) -> list[Row]:
        assert (common / "model").is_file()
        assert not list(folder.iterdir())
        self.made.append((part, seed))
        return [Row(arm=part, seed=seed, figures={"success": seed + 10.0 * (part == "new")})]


@pytest.fixture
def tossed(monkeypatch: pytest.MonkeyPatch) -> Tossed:
    made = Tossed()
    monkeypatch.setitem(EXPERIMENTS, "tossed", made.experiment)
    return made


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_row_is_a_mean_over_seeds_with_students_interval_and_a_dash_where_a_figure_is_not_defined():
    told = list(table(Tossed().experiment, ROWS))
    found = {line.split()[0]: line.split() for line in told[1:4] if line.split()}
    # half of Student's interval of 60 and 70: 12.706 * 5 = 63.53
    assert found["new"] == ["new", "2", "65.0", "±", "63.5", "0.60", "±", "1.27"]
    assert found["old"] == ["old", "2", "50.0", "±", "0.0", "–"]


def test_differences_from_the_control_are_taken_seed_by_seed():
    told = list(table(Tossed().experiment, ROWS))
    place = told.index("\nless old, seed by seed")
    assert told[place + 1].split() == ["new", "2", "+15.0", "±", "63.5", "–"]
    alone = list(table(Tossed().experiment, ROWS[:2]))  # no control
    assert not [line for line in alone if "less" in line]


def test_an_arm_may_be_compared_with_another_one_than_the_control():
    both = replace(Tossed().experiment, arms=("old", "new", "third"), beside={"third": "new"})
    third = [Row(arm="third", seed=seed, figures={"success": 71.0}) for seed in (0, 1)]
    told = list(table(both, [*ROWS, *third]))
    place = told.index("\nless new, seed by seed")
    assert told[place + 1].split() == ["third", "2", "+6.0", "±", "63.5", "–"]


def test_a_curve_is_the_mean_over_seeds_as_far_as_all_of_them_go():
    told = list(table(Tossed().experiment, ROWS))
    assert told[-1].split() == ["new", "0.600", "0.800"]


@pytest.mark.parametrize(
    ("values", "told"), [([1.0], "1.0"), ([1.0, None], "–"), ([], "–"), ([2.0, 2.0], "2.0 ± 0.0")]
)
def test_a_spread(values: list[float | None], told: str):
    assert spread(values, 1) == told


def test_outcomes_are_kept_and_only_missing_ones_are_made(
    tossed: Tossed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "seeds.json"
    main(json=False, experiment="tossed", seeds=1, rounds=1, tasks=1, file=file)
    assert tossed.made == [("old", 0), ("new", 0)]
    main(json=False, experiment="tossed", seeds=2, rounds=1, tasks=1, file=file)
    assert tossed.made[2:] == [("old", 1), ("new", 1)]
    assert len(tossed.prepared) == 2
    main(json=False, experiment="tossed", seeds=2, rounds=1, tasks=1, file=file)
    assert len(tossed.made) == 4
    assert len(tossed.prepared) == 2  # nothing was missing
    assert ["new", "2", "10.5"] in [line[:3] for line in lines(capsys.readouterr().out)]


@pytest.mark.usefixtures("tossed")
def test_outcomes_of_other_settings_are_not_continued(tmp_path: Path):
    file = tmp_path / "seeds.json"
    main(json=False, experiment="tossed", seeds=1, rounds=1, tasks=1, file=file)
    with pytest.raises(ConfigError, match="other settings"):
        main(json=False, experiment="tossed", seeds=1, rounds=2, tasks=1, file=file)
    assert json.loads(file.read_text())["settings"]["rounds"] == 1


def test_an_unknown_experiment_is_an_error_that_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"feedback \| self-judgement \| population \| mixed"):
        main(json=False, experiment=None)


@pytest.mark.parametrize("part", population.POPULATION.parts)
def test_populations_explore_as_many_episodes_as_the_single_runs(part: str):
    config = load(None, population.run_settings(part, 0, Scale(4, 10)))
    assert config.population is not None
    assert config.population.budget is None  # size times the episodes of one run
    assert config.iterations == 4
    assert config.population.rule == (part if part != population.SINGLE else "halving")


def test_as_many_tokens_are_cloned_again_as_were_learnt_from_in_the_run():
    four = [SimpleNamespace(mask=np.array([False, *[True] * trained])) for trained in (1, 2, 3, 4)]
    found: Any = four

    def learnt(tokens: int) -> list[int]:
        return [int(one.mask.sum()) for one in mixed.up_to(found, tokens, seed=0)]

    assert sorted(learnt(10)) == [1, 2, 3, 4]
    assert learnt(20) == 2 * learnt(10)  # all of them twice
    assert 0 <= sum(learnt(5)) - 5 < 4
    assert learnt(0) == []


def test_the_mixed_run_is_the_documented_one():
    config = load(None, mixed.run_settings(0, Scale(3, 10)))
    assert (config.base, config.iterations, tuple(config.by_environment)) == ("starter:many", 3, mixed.ENVS)


def test_only_the_guard_differs_between_the_two_runs_with_a_biased_judge():
    ours, bare = (
        load(None, [*self_judgement.SETTINGS, *self_judgement.score_settings(part, Path("common"))])
        for part in (self_judgement.GUARDED, self_judgement.GAMED)
    )
    assert (ours.self.min_auc, bare.self.min_auc) == (0.5, 0.0)
    assert ours.self.judge == bare.self.judge == "common/biased"
    assert ours.model_copy(update={"self": bare.self}) == bare


def test_arms_that_begin_together_have_one_table_of_explored_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scale, began = Scale(rounds=1, tasks=1), list[str]()

    def played(*_given: object, **_settings: object) -> list[Trajectory]:
        began.append("arm")
        if len(began) == 1:  # the second arm begins while the first one plays
            feedback.explored(tmp_path, 0, scale)
        return [trajectory(id=f"episode of arm {len(began)}")]

    monkeypatch.setattr(feedback, "played", played)
    table = feedback.explored(tmp_path, 0, scale)
    assert len(began) == 2
    assert [one.id for one in Store.open(table).trajectories()] == ["episode of arm 2"]
    assert list(tmp_path.iterdir()) == [table]
