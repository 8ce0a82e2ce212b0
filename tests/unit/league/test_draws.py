"""Draws of partners in a league: probabilities from win rates, and the seats beside them."""

from collections import Counter

import pytest

from agentevol.config.self_evolution.selfplay import SelfPlayConfig, latest_version
from agentevol.loop.league.draws import LATEST, Candidate, Tally, candidates, drawn, seat_of, win_rates

LEAGUE = SelfPlayConfig(partner="league", scripted={"random": 0.25})


def test_win_rates_begin_at_a_half_and_follow_the_episodes():
    tallies = {"0001": Tally(4, 3), "0002": Tally(2, 0), "latest": Tally(9, 4.5)}
    rates = win_rates([tallies], ["0001", "0002", "0003"])
    assert rates == pytest.approx({"0001": (3 + 1) / (4 + 2), "0002": (0 + 1) / (2 + 2), "0003": 0.5})


def test_an_earlier_round_counts_nine_tenths():
    first, second = {"0000": Tally(4, 3)}, {"0000": Tally(2, 1)}
    assert win_rates([first, second], ["0000"]) == pytest.approx(
        {"0000": (0.9 * 3 + 1 + 1) / (0.9 * 4 + 2 + 2)}
    )
    # a round without an episode beside it takes its results back towards a half, too
    assert win_rates([first, {}], ["0000"]) == pytest.approx({"0000": (0.9 * 3 + 1) / (0.9 * 4 + 2)})
    assert win_rates([second, first], ["0000"]) != win_rates([first, second], ["0000"])


def test_probabilities_follow_the_squared_rate_of_losses():
    rates = {"0001": 2 / 3, "0002": 1 / 4, "0003": 1 / 2, "random": 0.9}
    found = candidates(LEAGUE, ["0001", "0002", "0003"], rates)
    total = 1 / 9 + 9 / 16 + 1 / 4 + 1 / 4
    assert {one.name: one.weight for one in found} == pytest.approx(
        {"latest": None, "0001": 1 / 9, "0002": 9 / 16, "0003": 1 / 4, "random": 1 / 4}
    )
    assert [one.probability for one in found] == pytest.approx(
        [0.5, 0.5 / 9 / total, 0.5 * 9 / 16 / total, 0.5 / 4 / total, 0.5 / 4 / total]
    )
    assert sum(one.probability for one in found) == pytest.approx(1.0)


def test_the_latest_policy_plays_itself_where_there_is_no_other():
    alone = SelfPlayConfig(partner="league", latest=0.0)
    assert candidates(alone, [], {}) == [Candidate(LATEST, None, None, 1.0)]
    with_one = candidates(alone, ["0000"], {"0000": 0.5})
    assert [one.probability for one in with_one] == [0.0, 1.0]


def test_draws_come_at_their_probabilities_and_are_equal_again():
    among = [
        Candidate(LATEST, None, None, 0.5),
        Candidate("0001", 0.5, 0.25, 0.1),
        Candidate("0002", 0.0, 1.0, 0.4),
    ]
    tasks = [f"train/{number}" for number in range(4000)]
    found = [drawn(among, 7, 3, task) for task in tasks]
    assert found == [drawn(among, 7, 3, task) for task in tasks]
    counts = Counter(found)
    assert {name: round(count / 4000, 1) for name, count in counts.items()} == {
        "latest": 0.5,
        "0001": 0.1,
        "0002": 0.4,
    }
    for other in ((8, 3), (7, 4)):  # another seed, another iteration
        assert [drawn(among, *other, task) for task in tasks] != found


def test_rounding_never_draws_a_partner_without_probability():
    short = [Candidate("0001", 0.5, 0.25, 0.0), Candidate("0002", 0.5, 0.25, 1e-9), Candidate("x", 1, 0, 0.0)]
    assert {drawn(short, 0, 1, f"{number}") for number in range(50)} == {"0002"}


def test_seats_alternate_by_task_and_then_by_iteration():
    assert [seat_of(number, 1, 2) for number in range(4)] == [1, 0, 1, 0]
    assert [seat_of(number, 2, 2) for number in range(4)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("iteration", "ahead", "version"), [(1, 0, 0), (2, 0, 1), (5, 0, 4), (2, 1, 0), (3, 1, 1), (5, 2, 2)]
)
def test_rounds_ahead_see_less(iteration: int, ahead: int, version: int):
    assert latest_version(iteration, ahead) == version
