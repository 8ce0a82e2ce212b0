"""Results of a round by partner, and the seats that the policy played."""

from agentevol.core.summaries import IterationSummary, LeagueEntry, RunSummary
from agentevol.loop.league.draws import Tally
from agentevol.loop.league.figures import figures, lines
from agentevol.loop.league.results import tallied
from agentevol.loop.league.table import league_table
from agentevol.loop.stages.exploration import policy_seats
from agentevol.rollout.episode import EpisodeRequest


def test_a_win_is_a_return_above_the_partners():
    own = [("a", "0002", 1.0), ("b", "0002", 0.25), ("c", "0002", 0.5), ("d", "0002", 0.0)]
    others = [("a", "0001", 0.0), ("b", "0001", 0.75), ("c", "0001", 0.5), ("d", "random", -1.0)]
    assert tallied(own, others) == {"0001": Tally(3, 1.5, 1.75), "random": Tally(1, 1.0, 0.0)}


def test_self_play_is_half_a_win_with_the_mean_return():
    assert tallied([("a", "0002", 1.0), ("a", "0002", 0.0)], []) == {"latest": Tally(1, 0.5, 0.5)}


def test_a_seat_without_a_return_is_no_loss():
    own = [("a", "0002", 0.0), ("b", "0002", None), ("c", "0002", 1.0), ("d", "0002", 1.0)]
    others = [("a", "0001", None), ("b", "0001", 1.0), ("c", "0001", 0.0)]
    assert tallied(own, others) == {"0001": Tally(1, 1.0, 1.0)}
    assert tallied([("a", "0002", 0.0)], [("a", "0001", 1.0)]) == {"0001": Tally(1, 0.0, 0.0)}


def entry(partner: str, episodes: int, win_rate: float, reward: float) -> LeagueEntry:
    told = {"estimate": 0.5, "weight": 0.25, "probability": 0.1}
    return LeagueEntry(partner=partner, episodes=episodes, win_rate=win_rate, mean_reward=reward, **told)


def test_figures_are_of_fixed_partners_and_of_the_worst_checkpoint():
    latest = LeagueEntry(partner="latest", probability=0.5, episodes=9, mean_reward=0.0)
    others = [entry("0000", 8, 0.75, 0.5), entry("0001", 4, 0.25, -0.5), entry("random", 2, 1.0, 1.0)]
    assert figures([latest, *others, LeagueEntry(partner="0002", probability=0.1)]) == {
        "league_win_rate_beside_random": 1.0,
        "league_reward_beside_random": 1.0,
        "league_win_rate_worst": 0.25,
        "league_reward_worst": -0.5,
    }
    assert figures([latest]) == {}


def test_the_console_has_a_line_for_each_partner_that_was_met():
    met = [LeagueEntry(partner="latest", probability=0.5, episodes=9, mean_reward=0.125)]
    assert list(lines([*met, entry("0001", 4, 0.25, -0.5), entry("0002", 0, 0.0, 0.0)])) == [
        "league, latest: 9 episodes, mean reward 0.125 (probability 0.50)",
        "league, 0001: 4 episodes, won 25%, mean reward -0.500 (w 0.50, weight 0.25, probability 0.10)",
    ]


def test_the_report_has_a_row_for_each_iteration_and_partner():
    latest = LeagueEntry(partner="latest", probability=0.5, episodes=9, mean_reward=0.125)
    entries = (latest, entry("0000", 8, 0.75, 0.5), entry("0001", 4, 0.25, -0.5), entry("idle", 0, 0.0, 0.0))
    played = IterationSummary(iteration=3, checkpoint="0003", table_version=1, league=entries)
    start = IterationSummary(iteration=0, checkpoint="0000", table_version=1)
    assert league_table(RunSummary(run="r", environment="duel", iterations=(start, played))) == [
        ["3", "latest", "0.500", "–", "–", "9", "–", "0.125"],
        ["3", "0000", "0.100", "0.500", "0.250", "8", "75.0%", "0.500"],
        ["3", "0001 (worst)", "0.100", "0.500", "0.250", "4", "25.0%", "-0.500"],
        ["3", "idle", "0.100", "0.500", "0.250", "0", "0.0%", "0.000"],
    ]
    assert league_table(RunSummary(run="r", environment="duel", iterations=(start,))) == []


def test_seats_of_the_policy_are_counted_by_request():
    assert policy_seats([request(None), request(None)]) == (2, 0)
    assert policy_seats([request(0), request(None), request(1)]) == (1, 1)
    assert policy_seats([request(0), request(1)]) == (1, 0)


def request(policy_seat: int | None) -> EpisodeRequest:
    told = dict.fromkeys(("id", "run", "env", "task_id", "split", "kind", "difficulty", "instruction"), "")
    numbers = {"iteration": 1, "seed": 0, "attempt": 0, "seats": 2}
    return EpisodeRequest(**told, **numbers, purpose="explore", policy_seat=policy_seat)
