"""Members of a population: their settings, their copies and their ranking."""

from pathlib import Path

import pytest

from agentevol.config.run import load
from agentevol.config.self_evolution.population import PopulationConfig
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import spread
from agentevol.loop.population.judgement import unused
from agentevol.loop.population.members import copied, first_legs, latest, leg_config
from agentevol.loop.population.ranking import ranked
from agentevol.loop.population.records import (
    MemberRecord,
    PopulationRecord,
    SpanRecord,
    members_table,
    read_record,
    write_record,
)

CONFIG = load(None, ["algorithm=sft", "name=p", "learn.learning_rate=0.01", "population.size=3", "seed=5"])


def test_members_differ_in_seed_rate_and_selection():
    own = PopulationConfig.model_validate({"size": 3, "rates": [1.0, 2.0], "selections": "all,succeeded"})
    configs = [leg_config(CONFIG, leg) for leg in first_legs(CONFIG, own)]
    assert [one.learn.learning_rate for one in configs] == [0.01, 0.02, 0.01]
    assert [one.select.rule for one in configs] == ["all", "succeeded", "all"]
    assert len({one.seed for one in configs}) == 3
    assert [one.name for one in configs] == ["p-00", "p-01", "p-02"]
    assert {one.base for one in configs} == {CONFIG.base}
    assert all(one.population is None for one in configs)
    other = CONFIG.model_copy(update={"seed": 6})
    assert leg_config(other, first_legs(other, own)[0]).seed not in {one.seed for one in configs}


def test_a_copy_goes_on_from_the_best_ones_weights_with_its_rate_scaled():
    first, second, third = first_legs(CONFIG, PopulationConfig(size=3))
    rates = set[float]()
    for seed in range(20):
        leg = copied(third, first, Checkpoint(Path("/best"), 4), 4, seed)
        assert (leg.name, leg.begun, leg_config(CONFIG, leg).base) == ("02-1", 4, "/best")
        rates.add(round(leg.rate, 9))
    assert rates == {0.008, 0.012}
    again = copied(leg, second, Checkpoint(Path("/other"), 6), 6, 0)
    assert again.name == "02-2"


def test_the_latest_weights_are_of_the_last_finished_iteration_up_to_a_limit(tmp_path: Path):
    assert latest(tmp_path, [0, 1, 2, 3], 2) == Checkpoint(tmp_path / "checkpoints" / "0002", 2)
    assert latest(tmp_path, [0, 1], 2).version == 1  # it stopped early


def test_members_are_ranked_on_the_tasks_that_all_have():
    scores = {
        "00": {"a": 1.0, "b": 0.0, "c": 0.0},
        "01": {"a": 1.0, "b": 1.0},
        "02": {"a": 0.0, "b": 1.0, "d": 1.0},
    }
    best, second, third = ranked(scores)
    assert [one.member for one in (best, second, third)] == ["01", "00", "02"]
    assert (best.mean, best.behind, best.tasks) == (1.0, 0.0, 2)
    assert (second.mean, second.behind) == (0.5, 0.5)
    assert second.error == pytest.approx(0.5)  # gaps 0 and 1: sd 0.707, over the root of 2
    assert ranked({"00": {"a": 1.0}, "01": {"a": 1.0}})[0].member == "00"
    with pytest.raises(RunStopped, match="no validation task was scored by all"):
        ranked({"00": {"a": 1.0}, "01": {"b": 1.0}})


@pytest.mark.parametrize(("count", "total"), [(2, 4), (3, 7), (50, 100), (5, 6)])
def test_fresh_tasks_are_others_than_those_that_chose(count: int, total: int):
    fresh = unused(count)(total)
    assert set(fresh).isdisjoint(spread(count)(total))
    assert len(set(fresh)) == len(fresh) == min(count, total - count)


def test_a_record_is_read_as_it_was_written_and_makes_a_table(tmp_path: Path):
    standings = ranked({"00": {"a": 1.0, "b": 1.0}, "01": {"a": 0.0, "b": 1.0}})
    members = tuple(
        MemberRecord(run=one.member, seed=1, learning_rate=0.01, selection="all", standing=one,
                     goes_on=one.member == "00", copies=None)
        for one in standings
    )  # fmt: skip
    record = PopulationRecord(
        spans=(SpanRecord(until=1, members=members), SpanRecord(until=3, members=members[:1])), merged=("00",)
    )
    assert read_record(tmp_path) is None
    write_record(tmp_path, record)
    assert read_record(tmp_path) == record
    assert members_table(record) == [
        ["00", "1", "0.01", "all", "1.000 of 2", "–", "goes on"],
        ["01", "1", "0.01", "all", "0.500 of 2", "0.500 ± 0.500", "ends"],
        ["00", "3", "0.01", "all", "1.000 of 2", "–", "the result"],
    ]
