"""pass^k and pass@k by hand."""

import pytest
from support.evaluations import record

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.pass_rates import (
    Outcomes,
    outcomes_of,
    pass_at,
    pass_hat,
    pass_rates,
)
from agentevol.loop.report.evaluations.proportions import clustered_proportion
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.intervals import wilson

# Task a: 3 of 4 succeed, b: 1 of 4, c: 4 of 4, d: 0 of 2.
#   pass^1 = pass@1 = (3/4 + 1/4 + 1 + 0) / 4 = 1/2
#   pass^2 = (3/6 + 0/6 + 6/6 + 0/1) / 4 = 3/8
#   pass^3 = (1/4 + 0 + 1) / 3 = 5/12, without d, which has two episodes
#   pass^4 = (0 + 0 + 1) / 3 = 1/3
#   pass@2 = ((1 - 0/6) + (1 - 3/6) + 1 + (1 - 1/1)) / 4 = 5/8
#   pass@3 = (1 + (1 - 1/4) + 1) / 3 = 11/12
#   pass@4 = 1
TASKS = [Outcomes(3, 4, "a"), Outcomes(1, 4, "b"), Outcomes(4, 4, "c"), Outcomes(0, 2, "d")]
EXPECTED = {
    "pass^1": (1 / 2, 4),
    "pass^2": (3 / 8, 4),
    "pass^3": (5 / 12, 3),
    "pass^4": (1 / 3, 3),
    "pass@1": (1 / 2, 4),
    "pass@2": (5 / 8, 4),
    "pass@3": (11 / 12, 3),
    "pass@4": (1.0, 3),
}


def test_rates_are_means_over_the_tasks_with_enough_episodes() -> None:
    found = pass_rates(TASKS)
    assert list(found) == list(EXPECTED)
    for name, (mean, n) in EXPECTED.items():
        assert (found[name].mean, found[name].n) == (pytest.approx(mean, abs=1e-12), n), name


def test_one_success_more_is_noticed() -> None:
    found = pass_rates([TASKS[0], Outcomes(2, 4, "b"), *TASKS[2:]])
    assert found["pass^2"].mean == pytest.approx((3 / 6 + 1 / 6 + 1) / 4, abs=1e-12)
    assert found["pass@2"].mean == pytest.approx((1 + 5 / 6 + 1) / 4, abs=1e-12)


def test_the_plain_power_of_the_rate_is_another_estimate() -> None:
    # 1 of 4: the biased estimate of pass@2 is 1 - (3/4)^2 = 7/16, of pass^2 (1/4)^2
    assert pass_at(Outcomes(1, 4), 2) == 1 / 2
    assert pass_hat(Outcomes(1, 4), 2) == 0


@pytest.mark.parametrize("k", [0, 5])
@pytest.mark.parametrize("rate", [pass_hat, pass_at])
def test_k_is_from_1_to_the_number_of_episodes(rate, k: int) -> None:
    with pytest.raises(ValueError, match=f"k is from 1 to the 4 episodes of the task, not {k}"):
        rate(Outcomes(3, 4), k)


def test_failed_episodes_and_partners_are_no_attempts() -> None:
    def played(task: str, reward: float | None, **fields: object) -> EvaluationRecord:
        ending = "failed(policy)" if reward is None else "terminated"
        return record(task=task, reward=reward, ending=ending, **fields)

    episodes = [
        *(played("a", 1.0), played("a", 0.0), played("a", None), played("b", 1.0), played("b", 1.0)),
        *(played("b", 1.0, seat=1), played("b", 0.0, role="partner")),
    ]
    found = outcomes_of(episodes)
    assert found == [Outcomes(1, 2, "a"), Outcomes(2, 2, "b"), Outcomes(1, 1, "b")]


def test_without_repeats_there_is_nothing_to_tell() -> None:
    assert pass_rates([Outcomes(1, 1, "a"), Outcomes(0, 1, "b")]) == {}
    assert pass_rates([]) == {}


def test_repeats_of_a_task_are_no_further_tasks() -> None:
    # half of 40 tasks always succeed, however often they are played: Wilson's interval of 20 of 40
    for repeats in (2, 8):
        found = pass_rates([Outcomes(repeats * (n % 2), repeats, f"{n}") for n in range(40)])["pass^1"]
        assert (found.mean, found.n) == (0.5, 40)
        assert (found.low, found.high) == wilson(20, 40)


def test_tasks_of_one_scenario_are_one_cluster() -> None:
    # two scenarios of two tasks, 1/2 and 0 each: residual sums are 0, so the interval is Wilson's of 2
    # clusters; of four scenarios it is Student's
    tasks = [Outcomes(1, 2, "s"), Outcomes(0, 2, "s"), Outcomes(1, 2, "t"), Outcomes(0, 2, "t")]
    together = pass_rates(tasks)["pass^1"]
    apart = pass_rates([task._replace(cluster=f"{n}") for n, task in enumerate(tasks)])["pass^1"]
    assert (together.clusters, apart.clusters) == (2, 4)
    assert (together.low, together.high) == wilson(0, 2)
    # deviation of 0.5, 0, 0.5, 0 is 0.288675, half width 3.182446 * 0.288675 / 2 = 0.459347
    assert (apart.low, apart.high) == (0.0, pytest.approx(0.25 + 0.459347, abs=1e-5))


@pytest.mark.parametrize(
    ("values", "clusters", "bounds"),
    [
        ([1, 1, 0, 1], "abcd", wilson(3, 4)),
        ([1, 1, 1, 1], "abcd", wilson(4, 4)),
        ([1, 1, 1, 1], "aabb", wilson(2, 2)),  # no spread between the clusters: they count once each
        ([1, 0, 1, 1], "aaaa", wilson(1, 1)),  # one cluster
    ],
)
def test_intervals_of_proportions(values: list[int], clusters: str, bounds: tuple[float, float]) -> None:
    found = clustered_proportion(values, clusters)
    assert (found.low, found.high) == bounds


def test_a_proportion_of_nothing_has_no_mean() -> None:
    assert clustered_proportion([], "") == MeanScore()
