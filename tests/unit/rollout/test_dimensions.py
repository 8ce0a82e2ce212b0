"""Scores in dimensions: what counts as one, and means with intervals that respect clusters."""

import math
import random
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import t
from support.trajectories import trajectory

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.intervals import mean_interval
from agentevol.rollout.dimensions.clusters import clustered_mean
from agentevol.rollout.dimensions.means import Scored, dimension_means
from agentevol.rollout.dimensions.scores import cluster_of, end_reasons_of, scores_of
from agentevol.rollout.metrics import summarise
from agentgym_store.records import Cancelled, Failed, Terminated, Trajectory, Truncated, Turn

# Clusters a = (1, 3), b = (5, 7), c = (2,): N = 5, G = 3, mean 18 / 5 = 3.6.
#   residual sums: a = (1 - 3.6) + (3 - 3.6) = -3.2, b = 1.4 + 3.4 = 4.8, c = -1.6
#   squares 10.24 + 23.04 + 2.56 = 35.84; variance of the mean = 3 / 2 * 35.84 / 25 = 2.1504
#   standard error 1.46642, Student's t with 2 degrees of freedom 4.302653, half width = 6.30951
# Without clusters: residuals' squares 6.76 + 0.36 + 1.96 + 11.56 + 2.56 = 23.2, variance 23.2 / 4 / 5 = 1.16,
#   half width = 2.776445 * 1.077033 = 2.99032
VALUES, CLUSTERS = [1.0, 3.0, 5.0, 7.0, 2.0], ["a", "a", "b", "b", "c"]


def test_the_interval_of_a_mean_is_cluster_robust() -> None:
    found = clustered_mean(VALUES, CLUSTERS)
    assert (found.mean, found.n, found.clusters) == (pytest.approx(3.6), 5, 3)
    assert (found.low, found.high) == (
        pytest.approx(3.6 - 6.30951, abs=1e-4),
        pytest.approx(3.6 + 6.30951, abs=1e-4),
    )


def test_an_interval_that_ignores_clusters_is_another_one() -> None:
    low, high = mean_interval(VALUES)
    assert (high - low) / 2 == pytest.approx(2.99032, abs=1e-4)
    found = clustered_mean(VALUES, CLUSTERS)
    assert found.high is not None
    assert found.high - 3.6 > 2 * (high - 3.6)


def test_without_shared_clusters_it_is_students_interval() -> None:
    found = clustered_mean(VALUES, range(5))
    assert (found.low, found.high) == (
        pytest.approx(mean_interval(VALUES)[0]),
        pytest.approx(mean_interval(VALUES)[1]),
    )


def test_repeating_every_value_within_its_cluster_adds_no_certainty() -> None:
    once, thrice = clustered_mean(VALUES, range(5)), clustered_mean(VALUES * 3, [*range(5)] * 3)
    assert thrice.n == 15
    assert (thrice.low, thrice.high) == (pytest.approx(once.low), pytest.approx(once.high))
    assert mean_interval(VALUES * 3)[0] != pytest.approx(once.low, abs=0.5)


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    """40 scenarios of 5 pairs, of which the scenario has half of the variance: 95 % of 400 intervals."""
    draws = random.Random(7)
    clusters = [number // 5 for number in range(200)]
    covered = naive = 0
    for _ in range(400):
        shifts = [draws.gauss(0, 1) for _ in range(40)]
        values = [shifts[cluster] + draws.gauss(0, 1) for cluster in clusters]
        found = clustered_mean(values, clusters)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
        half = float(t.ppf(0.975, 199)) * math.sqrt(sum((v - fmean(values)) ** 2 for v in values) / 199 / 200)
        naive += abs(fmean(values)) <= half
    assert covered / 400 == pytest.approx(0.95, abs=0.033)  # three standard errors of 400 draws
    assert naive / 400 < 0.85


def test_few_clusters_have_no_interval_and_no_values_no_mean() -> None:
    assert clustered_mean([], []) == MeanScore()
    assert clustered_mean([2.0, 4.0], ["a", "a"]) == MeanScore(mean=3.0, n=2, clusters=1)


def told(info: dict[str, Any], **fields: Any) -> Trajectory:
    turns = (
        Turn(action="a", observation="o", reward=0.5),
        Turn(action="b", observation="p", reward=0.0, info=info),
    )
    return trajectory(**{"id": "e", "turns": turns, **fields})


def test_scores_are_what_the_last_step_tells() -> None:
    one = told(
        {
            "dimensions": {"goal": 7, "secret": None},
            "overall_score": 1.5,
            "scenario": "s",
            "end_reasons": ["deal"],
        }
    )
    assert scores_of(one) == {"goal": 7.0, "secret": None, "overall": 1.5}
    assert (cluster_of(one), end_reasons_of(one)) == ("s", ["deal"])
    assert cluster_of(told({})) == "t"
    assert end_reasons_of(told({"end_reasons": "deal"})) == []


@pytest.mark.parametrize("score", [True, "7", [7], float("nan"), float("inf"), None])
def test_what_is_no_number_is_no_score(score: object) -> None:
    assert scores_of(told({"dimensions": {"goal": score}})) == {"goal": None, "overall": None}


@pytest.mark.parametrize("info", [{}, {"dimensions": None}, {"dimensions": [1]}])
def test_an_episode_that_tells_no_dimensions_has_no_scores(info: dict[str, Any]) -> None:
    assert scores_of(told(info)) is None


@pytest.mark.parametrize("ending", [Failed(failure="judge"), Cancelled()])
def test_an_episode_without_a_return_has_no_scores(ending: object) -> None:
    assert scores_of(told({"dimensions": {"goal": 7}}, ending=ending)) is None
    assert scores_of(trajectory(id="e")) is None


def test_a_score_that_is_null_counts_for_no_mean() -> None:
    means = dimension_means(
        [
            Scored("a", {"goal": 4, "overall": None, "secret": None}),
            Scored("b", {"goal": 8, "secret": -10, "overall": None}),
        ]
    )
    assert list(means) == ["goal", "secret", "overall"]
    assert (means["goal"].mean, means["goal"].n) == (6.0, 2)
    assert means["secret"] == MeanScore(mean=-10.0, n=1, clusters=1)  # as 0 the mean would be -5
    assert means["overall"] == MeanScore()


def test_a_summary_has_the_scores_of_the_episodes_that_have_a_return() -> None:
    played = [
        told({"dimensions": {"goal": 2.0}, "scenario": "s"}, id="1", ending=Terminated()),
        told({"dimensions": {"goal": 4.0}, "scenario": "s"}, id="2", ending=Truncated(limit="max_turns")),
        told({"dimensions": {"goal": 9.0}, "scenario": "u"}, id="3", ending=Failed(failure="judge")),
        told({}, id="4", ending=Truncated(limit="context")),
    ]
    summary = summarise(played, "test")
    assert summary.n == 3
    assert summary.dimensions["goal"] == MeanScore(mean=3.0, n=2, clusters=1)
    assert summarise(played[3:], "test").dimensions == {}
