"""Performance of a policy on groups of tasks, by hand."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import record

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import MeanScore
from agentevol.loop.report.document import (
    TEXT_LIMIT,
    Document,
    Table,
    as_html,
    as_markdown,
    check_files,
    escaped,
    write_document,
)
from agentevol.loop.report.evaluations.evaluation_report import (
    document_of,
    headline,
    report_of,
    success_intervals,
)
from agentevol.loop.report.evaluations.paired import by_group, paired_performance
from agentevol.loop.report.evaluations.performance import breakdowns, performance, reasons
from agentevol.loop.report.evaluations.record_comparison import compared, comparison_document
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.intervals import wilson
from agentevol.rollout.dimensions.clusters import clustered_mean, linearised

HOSTILE = "</td><script>alert(1)</script>|`x`\n# [a](javascript:alert(2)) *b* \u202e https://evil.example"


def played(task: str, reward: float | None, turns: int = 2, invalid: int | None = 0, **fields: Any) -> Any:
    ending = fields.pop("ending", "failed(judge)" if reward is None else "terminated")
    return record(
        task=task, reward=reward, turns=turns, invalid_actions=invalid, ending=ending, requested=5, **fields
    )


RECORDS = [
    played("a", 1.0, 2, 0, kind="heat", difficulty="easy", tokens=10),
    played("b", 0.0, 8, 4, kind="heat", difficulty="hard", tokens=30, ending="truncated(max_turns)"),
    played("c", 0.5, 5, 1, kind="look", difficulty="easy", end_reasons=["left"]),
    played("d", None, 3, 2, kind="look", difficulty="hard", detail="no reply"),
    played("e", 1.0, 5, 0, kind="look", difficulty="hard", tokens=20),
    played("e", 0.0, 9, 9, role="partner", kind="look"),
]


def test_means_are_over_the_scored_episodes_of_the_policy() -> None:
    found = performance(RECORDS)
    assert (found.tasks, found.episodes, found.failed) == (5, 4, 1)
    assert (found.success.mean, found.success.n) == (0.5, 4)
    assert (found.success.low, found.success.high) == wilson(2, 4)
    assert found.reward == clustered_mean([1, 0, 0.5, 1], "abce")
    assert (found.turns.mean, found.tokens.mean, found.tokens.n) == (5.0, 20.0, 3)
    # 0 + 4 + 1 + 0 of 2 + 8 + 5 + 5 actions; the failed episode's and the partner's are not counted
    assert (found.invalid_actions.mean, found.invalid_actions.n) == (pytest.approx(5 / 20), 4)


def test_the_share_of_invalid_actions_is_a_ratio_and_not_a_mean_of_ratios() -> None:
    # 1 of 2 and 0 of 6: 1/8, where the mean of shares is 1/4
    assert linearised([1, 0], [2, 6]) == [0.3125, -0.0625]
    found = performance([played("a", 1.0, 2, 1), played("b", 1.0, 6, 0)]).invalid_actions
    assert found.mean == 0.125
    # deviation of the two values is 0.265165, half width 12.706205 * 0.1875; cut at 0 and 1
    assert (found.low, found.high) == (0.0, 1.0)
    assert performance([played("a", 1.0, 2, None)]).invalid_actions == MeanScore()
    assert performance([played("a", 1.0, 0, 0)]).invalid_actions == MeanScore()
    with pytest.raises(ValueError, match="a denominator above 0"):
        linearised([0], [0])


def test_repeats_of_a_task_widen_no_certainty() -> None:
    once = [played(task, reward) for task, reward in zip("abcd", (1.0, 0.0, 1.0, 1.0), strict=True)]
    often = [one.model_copy(update={"id": f"{one.id}/{n}", "attempt": n}) for one in once for n in range(5)]
    few, many = performance(once), performance(often)
    assert (many.episodes, many.tasks, many.success.mean) == (20, 4, few.success.mean)
    assert many.success.low is not None
    assert few.reward.low is not None
    assert many.reward.low == pytest.approx(few.reward.low)
    assert many.success.low < wilson(15, 20)[0]  # which takes 20 episodes for independent


def counted(records: list[EvaluationRecord]) -> tuple[float | None, int, int]:
    """Success, episodes and failures of a group."""
    found = performance(records)
    return found.success.mean, found.episodes, found.failed


def test_there_is_a_breakdown_by_task_type_difficulty_and_both() -> None:
    found = breakdowns(RECORDS)
    assert list(found) == ["kind", "difficulty", "kind and difficulty"]
    shown = {name: {group: counted(one) for group, one in groups.items()} for name, groups in found.items()}
    assert shown == {
        "kind": {"heat": (0.5, 2, 0), "look": (0.5, 2, 1)},
        "difficulty": {"easy": (0.5, 2, 0), "hard": (0.5, 2, 1)},
        "kind and difficulty": {
            "heat, easy": (1.0, 1, 0),
            "heat, hard": (0.0, 1, 0),
            "look, easy": (0.0, 1, 0),
            "look, hard": (1.0, 1, 1),
        },
    }
    seats = breakdowns([played("a", 1.0, seat=0), played("a", 0.0, seat=1)])
    assert {group: counted(one) for group, one in seats["seat"].items()} == {
        "seat 0": (1.0, 1, 0),
        "seat 1": (0.0, 1, 0),
    }
    assert breakdowns([played("a", 1.0)]) == {}


def test_every_episode_that_was_not_won_has_a_reason() -> None:
    found = [(one.reason, one.episodes, one.share, one.example, one.detail) for one in reasons(RECORDS)]
    assert found == [
        ("failed(judge)", 1, 0.2, "d", "no reply"),
        ("terminated: left", 1, 0.2, "c", ""),
        ("truncated(max_turns)", 1, 0.2, "b", ""),
    ]
    twice = [*RECORDS, played("f", 0.0, ending="truncated(max_turns)")]
    assert (reasons(twice)[0].reason, reasons(twice)[0].episodes) == ("truncated(max_turns)", 2)


def test_the_report_says_what_was_found() -> None:
    found = report_of(RECORDS)
    assert found.pass_rates == {}
    assert success_intervals(found) == {}
    assert found.settings["model"] == ["m"]
    page = as_markdown(document_of(found))
    assert page.startswith(
        "# m – on debate/test\n\nSuccess is 50.0 % (95 % interval 15.0 – 85.0 %) in 4 episodes"
    )
    assert "| heat, easy | 1 | 1 | 100.0 % | 20.7 – 100.0 % | 1.000 | 2.0 | 10.0 | 0.0 % | 0 |" in page
    # returns 1 and 0: 0.5 -+ 12.706205 * sqrt(1/2) / sqrt(2)
    assert "| heat | 2 | 2 | 50.0 % | 9.5 – 90.5 % | 0.500 (-5.853 to 6.853) |" in page
    assert "| invalid actions | 25.0 % |" in page
    assert "| failed(judge) | 1 | 20.0 % | d | no reply |" in page
    assert "Repeated episodes" not in page
    assert json.loads(found.model_dump_json())["by"]["kind"]["look"]["failed"] == 1


def test_costs_have_means_and_rates_of_violation() -> None:
    told = [
        played("a", 1.0, costs={"harm": 2.0}),
        played("b", 0.0, costs={"harm": 0.0}),
        played("c", 0.0),  # names none: 0
        played("d", 0.0, costs={"harm": None}),  # not judged: in no mean
        played("e", None, costs={"harm": 9.0}),  # failed
    ]
    found = performance(told).costs
    assert list(found) == ["harm"]
    assert found["harm"].mean == clustered_mean([2.0, 0.0, 0.0], "abc")
    rate = found["harm"].violations
    assert (rate.mean, rate.n, (rate.low, rate.high)) == (pytest.approx(1 / 3), 3, wilson(1, 3))
    page = as_markdown(document_of(report_of([one.model_copy(update={"kind": "heat"}) for one in told])))
    assert "| cost harm | 0.667 | -2.202 to 3.535 | 3 | 3 |" in page
    assert "| harm \\> 0 | 33.3 % | 6.1 – 79.2 % | 3 | 3 |" in page
    assert "| failed | cost harm | harm \\> 0 |" in page
    assert performance(RECORDS).costs == {}


def test_an_evaluation_without_a_return_has_no_means() -> None:
    found = report_of([played("a", None)])
    assert headline(found.performance) == "No episode has a return."
    assert found.performance.reward == MeanScore()
    assert "| reward | – | – | 0 | 0 |" in as_markdown(document_of(found))


def test_repeated_episodes_have_a_table() -> None:
    repeated = [
        played(task, reward, id=f"{task}/{attempt}", attempt=attempt)
        for task, rewards in (("a", (1.0, 0.0)), ("b", (1.0, 1.0)))
        for attempt, reward in enumerate(rewards)
    ]
    page = as_markdown(document_of(report_of(repeated)))
    assert "| 2 | 50.0 % | 9.5 – 90.5 % | 100.0 % | 34.2 – 100.0 % | 2 |" in page
    assert report_of(repeated).pass_rates_by == {}
    assert success_intervals(report_of(repeated))["all"] != "30.1 – 95.4 %"  # Wilson's of 3 of 4


def test_repeated_episodes_have_a_table_by_group() -> None:
    repeated = [
        played(task, reward, id=f"{task}/{attempt}", attempt=attempt, kind=kind)
        for task, kind, rewards in (
            ("a", "heat", (1.0, 0.0)),
            ("b", "look", (1.0, 1.0)),
            ("c", "look", (0.0, 0.0)),
            ("d", "cool", (1.0,)),  # once: it has no rates
        )
        for attempt, reward in enumerate(rewards)
    ]
    found = report_of(repeated)
    rates = {
        group: {name: rate.mean for name, rate in by.items()}
        for group, by in found.pass_rates_by["kind"].items()
    }
    assert rates == {
        "heat": {"pass^1": 0.5, "pass^2": 0.0, "pass@1": 0.5, "pass@2": 1.0},
        "look": {"pass^1": 0.5, "pass^2": 0.5, "pass@1": 0.5, "pass@2": 0.5},
    }
    page = as_markdown(document_of(found))
    assert "| look | 2 | 50.0 % | 9.5 – 90.5 % | 50.0 % | 9.5 – 90.5 % | 2 |" in page


# success: a 0 -> 1, b 1 -> 1 (repeats 1, 1), c 1 -> 0.5 (repeats 0, 1); mean change (1 + 0 - 0.5) / 3 = 1/6
BEFORE = [played("a", 0.0, 4, 2), played("b", 1.0, 2, 0), played("c", 1.0, 2, 0), played("x", 1.0)]
AFTER = [
    played("a", 1.0, 2, 0, kind="heat"),
    *(played("b", 1.0, 2, 0, id=f"b{n}", attempt=n) for n in range(2)),
    *(played("c", float(n), 6, 3, id=f"c{n}", attempt=n) for n in range(2)),
]


def test_measures_are_paired_by_task() -> None:
    found = paired_performance(BEFORE, AFTER)
    success = found["success"]
    assert (success.first, success.second) == (pytest.approx(2 / 3), pytest.approx(5 / 6))
    assert success.difference == clustered_mean([1.0, 0.0, -0.5], "abc")
    assert (found["turns"].first, found["turns"].second) == (pytest.approx(8 / 3), pytest.approx(10 / 3))
    # invalid actions 2 of 8, then 3 of 10
    invalid = found["invalid actions"]
    assert (invalid.first, invalid.second) == (pytest.approx(0.25), pytest.approx(0.3))
    assert invalid.difference.mean == pytest.approx(0.05)
    assert "tokens" not in found


def test_measures_that_a_side_lacks_are_left_out() -> None:
    unknown = [one.model_copy(update={"invalid_actions": None}) for one in BEFORE]
    assert list(paired_performance(unknown, AFTER)) == ["success", "turns"]


def test_groups_are_paired_where_both_played() -> None:
    ones = [played("a", 0.0, kind="heat"), played("b", 1.0, kind="look"), played("c", 1.0, kind="cool")]
    others = [played("a", 1.0, kind="heat"), played("b", 1.0, kind="look"), played("d", 1.0, kind="cool")]
    found = by_group(ones, others, lambda one: one.kind)
    assert {name: one["success"].difference.mean for name, one in found.items()} == {"heat": 1.0, "look": 0.0}
    one = compared("x", ones, "y", others, force=False)
    assert list(one.scores) == ["success", "reward", "turns", "invalid actions"]
    assert (list(one.by), one.missing) == (["kind"], {"x": 2, "y": 2})
    page = as_markdown(comparison_document("x", {"y": one}))
    assert "y: success 50.0 % to 100.0 %, +50.0 points (95 % interval -585.3 to +685.3; 2 pairs)." in page
    assert "| heat | 0.000 | 1.000 | +1.000 | – | 1 | 1 |" in page


def test_other_settings_are_refused_unless_forced() -> None:
    others = [one.model_copy(update={"split": "hard"}) for one in AFTER]
    with pytest.raises(ConfigError, match=r'x and y differ in split: "test" and "hard"\. --force'):
        compared("x", BEFORE, "y", others, force=False)
    assert compared("x", BEFORE, "y", others, force=True).differs_in == {"split": ('"test"', '"hard"')}


class Tags(HTMLParser):
    """Tags of a page, and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile() -> list[EvaluationRecord]:
    told = {"kind": HOSTILE, "difficulty": HOSTILE, "model": HOSTILE, "detail": HOSTILE, "env": HOSTILE}
    return [
        played("a", 0.0, **told, end_reasons=[HOSTILE]),
        played(HOSTILE, None, **{**told, "kind": "other"}),
    ]


def test_text_of_models_is_no_markup_in_html() -> None:
    page = as_html(document_of(report_of(hostile())))
    tags = Tags(page)
    assert {tag for tag, _ in tags.found} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "small", "p", "ul", "li", "div"),
        *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    }
    assert "alert(1)" in tags.text
    assert "\u202e" not in page
    assert not any(name in ("src", "href") or name.startswith("on") for _, one in tags.found for name in one)
    assert "default-src 'none'" in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "color-scheme: light dark" in page


def test_text_of_models_is_no_markup_in_markdown() -> None:
    page = as_markdown(document_of(report_of(hostile())))
    assert "<" not in page.replace("\\<", "")
    assert "`x`" not in page.replace("\\`", "")
    assert "https://" not in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows if "alert" in line} <= {3, 6, 11}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass^2 of max_turns", "pass^2 of max_turns"),
        ("100.0 %", "100.0 %"),
        ("_a_ *b*", r"\_a\_ \*b\*"),
        ("1. one", r"1\. one"),
        ("- one", r"\- one"),
        ("# one", r"\# one"),
        ("a|b\nc", r"a\|b c"),
        ("www.x.org", r"www\.x.org"),
        ("<b>&amp;", r"\<b\>\&amp;"),
    ],
)
def test_text_is_escaped_only_where_it_would_be_markup(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_long_text_is_cut() -> None:
    assert escaped("x" * (TEXT_LIMIT + 5)).endswith("x … 5 more characters")


def test_a_report_is_written_as_its_name_tells(tmp_path: Path) -> None:
    document = Document("t", "s", "h", [Table("one", "", ["a"], [["1"]]), Table("none", "", ["b"], [])])
    for suffix in (".md", ".html", ".json"):
        write_document(tmp_path / f"r{suffix}", document, {"mean": None})
    assert (tmp_path / "r.md").read_text() == "# t – s\n\nh\n\n## one\n\n| a |\n| :-- |\n| 1 |\n"
    assert "<h2>one</h2>" in (tmp_path / "r.html").read_text()
    assert "none" not in Tags((tmp_path / "r.html").read_text()).text
    assert json.loads((tmp_path / "r.json").read_text()) == {"mean": None}


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text("mine")
    with pytest.raises(FileExistsError):
        check_files([tmp_path / "r.md"])
    with pytest.raises(FileNotFoundError, match="no such folder"):
        check_files([tmp_path / "none" / "r.md"])
    with pytest.raises(ConfigError, match=r"its name ends in \.md, \.html, \.json"):
        check_files([tmp_path / "r.pdf"])
    check_files([tmp_path / "new.json"])
    assert (tmp_path / "r.md").read_text() == "mine"
