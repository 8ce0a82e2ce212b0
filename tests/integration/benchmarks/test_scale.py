"""The simulator of scale: its queues are those of the textbooks, its parts count by hand."""

import json
from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from agentevol.cli.benchmarks.env.alfworld import scripts
from agentevol.core.errors import ConfigError
from benchmarks.scale import calibration
from benchmarks.scale.costs import Costs, Setup, interpolated, limits
from benchmarks.scale.driver import Driver
from benchmarks.scale.driver_costs import driver_costs
from benchmarks.scale.events import Events, Meter, Station
from benchmarks.scale.replica import Replica
from benchmarks.scale.simulation import Simulation

scale = import_module("benchmarks.scale.main")  # the package has a function of this name
ARRIVALS = 60_000
"""The mean waiting time of ten seeds was at most 9 % off the formula."""


def queue(rate: float, service_s, seed: int = 0) -> tuple[float, float]:
    """Utilisation and mean waiting time of one server with Poisson arrivals."""
    events, random = Events(), Random(seed)
    station, arrived = Station(events), [0]

    def arrive() -> None:
        arrived[0] += 1
        station.serve(service_s(random), lambda: None)
        events.after(random.expovariate(rate), arrive)

    arrive()
    events.run(until=lambda: arrived[0] >= ARRIVALS)
    return station.meter.total / events.now, station.waited_s / station.begun


# M/M/1: utilisation rho = rate / service rate, mean waiting time rho / (service rate - rate).
@pytest.mark.parametrize(("rate", "waits_s"), [(0.5, 1.0), (0.8, 4.0)])
def test_a_station_is_the_queue_m_m_1(rate: float, waits_s: float):
    used, waited_s = queue(rate, lambda random: random.expovariate(1.0))
    assert used == pytest.approx(rate, rel=0.02)
    assert waited_s == pytest.approx(waits_s, rel=0.1)


# M/D/1: half of it, rho / (2 * service rate * (1 - rho)).
@pytest.mark.parametrize(("rate", "waits_s"), [(0.5, 0.5), (0.8, 2.0)])
def test_a_station_with_constant_service_is_the_queue_m_d_1(rate: float, waits_s: float):
    used, waited_s = queue(rate, lambda _: 1.0)
    assert used == pytest.approx(rate, rel=0.02)
    assert waited_s == pytest.approx(waits_s, rel=0.1)


def test_the_formulas_notice_another_queue():
    used, waited_s = queue(0.8, lambda random: random.expovariate(1 / 0.9))
    assert used != pytest.approx(0.8, rel=0.05)
    _, varied_s = queue(0.8, lambda random: random.choice([0.5, 1.5]))  # same mean, another variance
    assert waited_s != pytest.approx(4.0, rel=0.2)
    assert varied_s != pytest.approx(2.0, rel=0.1)


def test_two_servers_work_at_once_and_in_order():
    events, done = Events(), []
    station = Station(events, servers=2)
    for name, seconds in (("a", 3.0), ("b", 1.0), ("c", 1.0)):
        station.serve(seconds, lambda name=name: done.append((name, events.now)))
    events.run(until=lambda: False)
    assert done == [("b", 1.0), ("c", 2.0), ("a", 3.0)]
    assert (station.meter.total, station.waited_s) == (5.0, 1.0)


def test_between_points_lies_a_line_and_beyond_them_the_last_one():
    points = [(1, 2.0), (5, 4.0), (9, 12.0)]
    assert [interpolated(points, at) for at in (0, 1, 3, 5, 7, 9, 20)] == [
        2.0,
        2.0,
        3.0,
        4.0,
        8.0,
        12.0,
        12.0,
    ]


# Two slots; a step takes 1 s for one turn, 1.5 s for two.
#   0.0  a alone                    a has 1 of 2
#   1.0  a and b                    a and b are done at 2.5
#   2.5  c alone                    c is done at 3.5
def test_turns_join_and_leave_between_the_steps_of_a_replica():
    events, done = Events(), []
    replica = Replica(events, slots=2, step_s=[1.0, 1.5])
    for name, tokens in (("a", 2), ("b", 1), ("c", 1)):
        replica.sample(tokens, lambda name=name: done.append((name, events.now)))
    events.run(until=lambda: False)
    assert done == [("a", 2.5), ("b", 2.5), ("c", 3.5)]
    assert replica.meter.total == 1.0 + 2 * 1.5 + 1.0


# A look takes 1 s, an episode 0.5 s, a commit of two 2 s.
#   0.0  a has ended: 1 + 0.5 s; b and c end meanwhile
#   1.5  takes b and c: 1 + 1 + 2 s, with the commit of a and b; c waits for the next one
def test_a_driver_takes_in_what_ended_while_it_worked():
    events, begun = Events(), []
    driver = Driver(
        events, lambda: begun.append(events.now), look_s=1, each_s=0.5, append_s=lambda: 2.0, commit_every=2
    )
    for at in (0.0, 1.2, 1.4):
        events.after(at, driver.ended)
    events.run(until=lambda: False)
    assert begun == [1.5, 5.5, 5.5]
    meters = driver.looking, driver.working, driver.appending
    assert (driver.finished, *(meter.total for meter in meters)) == (3, 2.0, 3.5, 2.0)


COSTS = Costs(
    step_s=[(1, 0.010), (8, 0.024)],
    gateway_s=0.001,
    server_s=0.002,
    open_s=[0.007],
    world_s=[0.003, 0.005],
    append_s=[0.064],
    hand_out_s=0.0005,
    take_in_s=0.0015,
    look_s=[(1, 0.0), (100, 0.001)],
)
SETUP = Setup(replicas=2, environments=1, turns=(10, 10), tokens=5, slots=8, servers=2)


# Ten turns: 12 requests of 3 ms, 7 ms to begin, 10 steps of 4 ms in the mean, 50 tokens of 10 ms, 3 ms of the
# driver: 0.586 s.
def test_one_episode_at_a_time_takes_the_sum_of_its_parts():
    outcome = Simulation(SETUP, COSTS).run(640)
    assert 1 / outcome.rate == pytest.approx(12 * 0.003 + 0.007 + 10 * 0.004 + 50 * 0.010 + 0.003, rel=0.005)
    assert outcome.used["gateway"] == pytest.approx(outcome.rate * 0.012)
    assert outcome.bottleneck == "none"


# Engines: 2 * 8 slots / (50 tokens * 24 ms); driver: 1 / 3 ms; table: 64 / 64 ms; gateway: 1 / 12 ms;
# servers: 2 / (12 * 2 ms + 7 ms + 10 * 4 ms).
def test_each_part_has_a_limit():
    assert limits(SETUP, COSTS) == pytest.approx(
        {"engines": 13.333, "driver": 333.33, "table": 1000.0, "gateway": 83.333, "servers": 28.169}, rel=1e-3
    )


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("engines", {}),
        ("gateway", {"gateway_s": 0.02}),
        ("driver", {"take_in_s": 0.4}),
        ("servers", {"world_s": [0.03, 0.05]}),
    ],
)
def test_with_many_episodes_the_slowest_part_works_at_its_limit(part: str, change: dict):
    costs = Costs(**{**COSTS.as_json(), **change})
    setup = Setup(replicas=2, environments=100, turns=(10, 10), tokens=5, slots=8, servers=2)
    outcome = Simulation(setup, costs).run(400)
    assert outcome.bottleneck == part
    assert outcome.rate == pytest.approx(limits(setup, costs)[part], rel=0.05)
    assert min(limits(setup, costs).values()) == limits(setup, costs)[part]


def test_equal_seeds_give_equal_outcomes_and_others_do_not():
    setup = Setup(replicas=2, environments=30, turns=(5, 15), tokens=5, slots=8)
    first, again, other = (Simulation(setup, COSTS, seed).run(60) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_a_meter_counts_what_lasts_and_nothing_from_before():
    events = Events()
    meter = Meter(events)
    events.after(1.0, lambda: meter.set(3))
    events.after(2.0, meter.forget)
    events.after(4.0, lambda: meter.set(1))
    events.after(5.0, lambda: None)
    events.run(until=lambda: False)
    assert meter.total == 2 * 3 + 1 * 1


def test_costs_are_read_as_they_were_printed(tmp_path: Path):
    file = tmp_path / "scale.json"
    file.write_text(json.dumps({"costs": COSTS.as_json()}))
    read = Costs.read(file)
    assert Simulation(SETUP, read).run(20) == Simulation(SETUP, COSTS).run(20)
    file.write_text(json.dumps({"costs": {**COSTS.as_json(), "gateway_s": 0.5}}))
    assert Costs.read(file).gateway_s == 0.5


@pytest.mark.parametrize("text", ["{}", "[1]", "no JSON", '{"costs": {"gateway_s": 1}}'])
def test_a_file_without_costs_is_refused_in_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "scale.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="holds no costs") as refused:
        Costs.read(file)
    assert "\n" not in str(refused.value)
    with pytest.raises(SystemExit):
        scale.main(["--costs", str(file)])
    assert "error: " + str(refused.value) in capsys.readouterr().err


def test_the_table_names_the_bottleneck_of_each_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scale, "ENVIRONMENTS", 640)
    monkeypatch.setattr(scale, "LEAST_EPISODES", 200)
    file = tmp_path / "scale.json"
    costs = {**COSTS.as_json(), "gateway_s": 0.004, "take_in_s": 0.001}  # 1 / (12 * 4 ms) = 20.8 episodes/s
    file.write_text(json.dumps({"costs": costs}))
    scale.main(["--json", "--costs", str(file)])
    table = json.loads(capsys.readouterr().out)["table"]
    assert [row["setup"]["environments"] for row in table] == [10, 40, 160, 640]
    assert [row["bottleneck"] for row in table][-1] == "gateway"
    assert table[-1]["episodes_per_s"] == pytest.approx(20.83, rel=0.05)
    scale.main(["--costs", str(file)])
    assert capsys.readouterr().out.count(" gateway\n") >= 1


def test_worlds_are_measured_step_by_step():
    begun, stepped = calibration.world_steps()
    assert len(begun) == len(scripts())
    assert len(stepped) == sum(len(script.commands) for script in scripts())
    assert min(*begun, *stepped) > 0


@pytest.mark.slow
def test_what_a_driver_pays_is_measured_with_each_number_of_episodes_in_flight():
    hand_out_s, take_in_s, look_s = driver_costs((20, 300), answers=8)
    assert hand_out_s > 0
    assert take_in_s > 0
    assert [count for count, _ in look_s] == [20, 300]
    assert all(seconds >= 0 for _, seconds in look_s)  # `python -m benchmarks scale` says how much
