"""Report of a suite: groups, sample, ratings, and text that is hostile."""

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from support.evaluations import record
from support.trajectories import trajectory

from agentevol.core.errors import ConfigError
from agentevol.loop.report.document import as_html, as_markdown
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.examples import Example
from agentevol.loop.report.suites.ratings import rating_agreement
from agentevol.loop.report.suites.sampling import Sampled, stratified_sample
from agentevol.loop.report.suites.suite_report import Content, suite_report
from agentevol.loop.report.suites.tables import suite_document
from agentgym_store.feedback.records import Feedback, Score, feedback
from agentgym_store.records import Turn

HOSTILE = "</td><script>alert(1)</script>|`x`\n# \u202e"


def played(model: str, env: str, rewards: str) -> list[EvaluationRecord]:
    """Two trials of each task; the first half of the tasks are of kind `a`."""
    return [
        record(
            id=f"s/{env}/{model}/{number}",
            task=f"t{number // 2}",
            attempt=number % 2,
            seed=number,
            model=model,
            env=env,
            kind="a" if number < len(rewards) / 2 else "b",
            difficulty="hard" if number % 4 < 2 else "easy",
            reward=float(reward),
            requested=len(rewards),
            costs={"harm": float(number)},
            ending="terminated" if reward == "1" else "truncated(max_turns)",
        )
        for number, reward in enumerate(rewards)
    ]


RECORDS = {
    "one": {"m": played("m", "one", "00000000"), HOSTILE: played(HOSTILE, "one", "11111010")},
    "two": {"m": played("m", "two", "0011"), HOSTILE: played(HOSTILE, "two", "1111")},
}


def score(name: str, rating: float, person: str = "Anna", **fields: Any) -> Feedback:
    values = {"trajectory_id": name, "source": f"human:{person}"}
    return feedback({**values, "opinion": Score(value=rating, low=1.0, high=5.0), **fields})


def content(**fields: Any) -> Content:
    return Content({"name": "s", "seed": 0}, RECORDS, **fields)


def test_groups_are_environment_kind_and_difficulty() -> None:
    found = suite_report(content())
    told = {
        (one.environment, one.kind, one.difficulty): (one.performance.episodes, one.performance.success.mean)
        for one in found.cells
        if one.model == HOSTILE
    }
    assert told == {
        ("one", "a", "hard"): (2, 1.0),
        ("one", "a", "easy"): (2, 1.0),
        ("one", "b", "hard"): (2, 0.5),
        ("one", "b", "easy"): (2, 0.5),
        ("two", "a", "hard"): (2, 1.0),
        ("two", "b", "easy"): (2, 1.0),
    }
    cost = next(one for one in found.cells if (one.environment, one.kind) == ("one", "a")).performance.costs
    assert (cost["harm"].mean.mean, cost["harm"].violations.mean) == (2.5, 1.0)  # of the numbers 2 and 3


def test_a_report_has_pass_rates_pairs_and_losses() -> None:
    found = suite_report(content())
    rates = found.parts["one"][HOSTILE].pass_rates
    assert (rates["pass^2"].mean, rates["pass@2"].mean) == (0.5, 1.0)  # of 2, 2, 1 and 1 of 2
    pair = found.comparison.pairs["success"][0]
    assert (pair.score.first, pair.score.second, pair.score.p) == (0.0, 0.75, 2 / 16)
    assert pair.p_holm == 4 / 16
    change = found.loss_changes[0].losses["limit without progress"]
    assert (change.first, change.second) == (1.0, 0.25)


def test_unequal_tasks_are_refused() -> None:
    records = {"one": {"m": RECORDS["one"]["m"], "n": RECORDS["one"][HOSTILE][:-1]}}
    with pytest.raises(ConfigError, match="m and n did not play equal tasks and seeds"):
        suite_report(Content({"name": "s"}, records))


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs)]


def test_hostile_text_is_text() -> None:
    turn = Turn(action=HOSTILE, observation=HOSTILE, reward=0.0)
    lost = trajectory(id=HOSTILE, turns=[turn], instruction=HOSTILE, initial_observation=HOSTILE)
    opinions = [score("s/one/m/1", 4.0, person="<img src=x onerror=alert(1)>")]
    found = suite_report(content(sample=[HOSTILE], opinions=opinions))
    document = suite_document(found, [Example("same state", lost)])
    page = as_html(document)
    assert {"script", "img", "onerror", "link", "iframe"} & set(Tags(page).found) == set()
    assert "default-src 'none'" in page
    assert "\u202e" not in page
    markdown = as_markdown(document)
    assert "<script" not in markdown.replace("\\<", "")
    assert not [line for line in markdown.splitlines() if line.startswith("# ") and "s –" not in line]
    assert json.loads(found.model_dump_json())["format"] == "agentevol.suite-report/1"


def test_texts_are_aligned_to_the_left() -> None:
    page = as_html(suite_document(suite_report(content())))
    assert '<td class="text">one</td><td class="text">m</td>' in page
    assert "<td>12.5 %</td>" not in page
    markdown = as_markdown(suite_document(suite_report(content())))
    assert "| :-- | :-- | :-- | --: |" in markdown


EPISODES = [Sampled(f"{group}{n}", n < won, group) for group, won in (("a", 8), ("b", 2)) for n in range(10)]


def test_a_sample_is_half_won_and_half_lost_over_all_groups() -> None:
    found = stratified_sample(EPISODES, 8, seed=0)
    known = {one.id: one for one in EPISODES}
    counts: dict[tuple[bool, str], int] = {}
    for name in found:
        place = known[name].won, known[name].group
        counts[place] = counts.get(place, 0) + 1
    assert counts == {(True, "a"): 2, (True, "b"): 2, (False, "a"): 2, (False, "b"): 2}


def test_a_sample_is_drawn_by_its_seed_alone() -> None:
    found = stratified_sample(EPISODES, 8, seed=0)
    assert found == stratified_sample(reversed(EPISODES), 8, seed=0)
    assert found != stratified_sample(EPISODES, 8, seed=1)
    assert len(set(found)) == 8


@pytest.mark.parametrize(("won", "count", "expected"), [(1, 6, 1), (9, 6, 5), (0, 4, 0), (10, 4, 4)])
def test_a_sample_takes_more_of_one_outcome_where_the_other_is_rare(
    won: int, count: int, expected: int
) -> None:
    episodes = [Sampled(f"e{n}", n < won, "a") for n in range(10)]
    found = stratified_sample(episodes, count, seed=0)
    assert (len(found), sum(int(name[1:]) < won for name in found)) == (count, expected)


def test_a_sample_is_at_most_all_episodes() -> None:
    assert sorted(stratified_sample(EPISODES, 99, seed=0)) == sorted(one.id for one in EPISODES)


OUTCOMES = {"a": True, "b": True, "c": False, "d": False}


def test_ratings_are_compared_with_outcomes() -> None:
    given = [score("a", 5.0), score("b", 2.0), score("c", 1.0), score("d", 3.0)]
    given += [score("a", 4.0, person="Bert"), score("c", 4.0, person="Bert")]
    found = {one.rater: one for one in rating_agreement(given, OUTCOMES)}
    anna = found["Anna"]
    # won and lost rated right once each, a won one rated lost; 3 is in the middle
    assert (anna.kappa.n, anna.undecided, anna.rated_won, anna.won) == (
        3,
        1,
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    )
    assert anna.kappa.agreed == pytest.approx(2 / 3)
    assert anna.kappa.kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    # c: 1 and 4 are 0 and 0.75, whose mean is below the middle
    assert (found["all people"].kappa.n, found["all people"].kappa.agreed) == (3, pytest.approx(2 / 3))
    assert list(found) == ["Anna", "Bert", "all people"]


def test_only_people_and_scores_of_whole_episodes_with_an_outcome_count() -> None:
    given = [
        score("a", 5.0, turn=0),
        score("unknown", 5.0),
        feedback(
            {
                "trajectory_id": "a",
                "source": "judge:m",
                "opinion": {"kind": "score", "value": 5.0, "low": 1.0, "high": 5.0},
            }
        ),
        feedback(
            {"trajectory_id": "a", "source": "human:Anna", "opinion": {"kind": "flag", "reason": "broken"}}
        ),
    ]
    assert rating_agreement(given, OUTCOMES) == []
