"""Recorded judgements, repeated; and judges by name."""

from pathlib import Path

import pytest
from support.judging import (
    GOAL,
    GOAL_SET,
    Fixed,
    conversation,
    episode,
    log_of,
    none_of,
    rated,
)
from support.sotopia_profiles import write_lines

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.judges.names import ModelSettings, Price, judges_named, read_prices
from agentevol.data.judgements.judges.replay import ReplayJudge
from agentevol.data.judgements.outcomes import Rating
from agentevol.data.judgements.panel import Asked, Panel
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension


async def test_recorded_judgements_are_repeated(tmp_path: Path) -> None:
    panel, file = Panel([Fixed()]), tmp_path / "judgements.jsonl"
    done = [await panel.judge(conversation("Hello.", name=name), Asked(dimensions=GOAL_SET)) for name in "ab"]
    file.write_text("".join(f"{one.model_dump_json()}\n" for one in done), encoding="utf-8")
    judge = ReplayJudge(file)
    assert await rated(judge, conversation("Other.", name="a"), GOAL) == [
        Rating(scores=({"goal": 0.0}, {"goal": 10.0}))
    ]
    assert await none_of(judge, conversation("Hello.", name="c"), GOAL) == (
        "not-recorded",
        "there is no judgement of 'c'",
    )
    assert (await none_of(judge, conversation("Hello.", name="a")))[1] == (
        "believability was not recorded from 0 to 10"
    )
    assert (await none_of(judge, conversation("", name="a"), (Dimension("goal", 0, 6, ""),)))[
        0
    ] == "not-recorded"
    assert judge.facts() == {"kind": "replay", "recorded": 2}


async def test_scores_of_recorded_episodes_are_repeated(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    write_lines(file, [log_of("one", "$24?", "Deal!"), log_of("two", "$24?", judged=False)])
    judge = ReplayJudge(file)
    (found,) = await rated(judge, episode("one", "$24?"))
    assert found.scores[1] == {one.name: float(one.high) for one in SOTOPIA}
    assert (await none_of(judge, episode("two", "$24?")))[0] == "not-recorded"


def test_a_file_without_judgements_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    for content, complaint in (
        ("{", "line 1: no JSON"),
        ('\n{"status": "ok"}', "line 2: no judgement: "),
    ):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match=complaint):
            ReplayJudge(file)


def test_judges_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env/v1/")
    file = tmp_path / "r.jsonl"
    file.write_text("", encoding="utf-8")
    names = ["rule", "rule:moves", "openai:a/b:8b", "openai:c@https://h:1/v1", f"replay:{file}"]
    found = judges_named(names, Conversations(), ModelSettings(prices={"c": Price(prompt=1, completion=2)}))
    assert [one.name for one in found] == [
        "rule",
        "rule:moves",
        "openai:a/b:8b",
        "openai:c",
        "replay:r.jsonl",
    ]
    assert [one.facts().get("address") for one in found] == [None, None, "env", "h:1", None]
    assert found[3].facts()["usage"]["cost"] == 0.0


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["rules"], "no judge 'rules': give rule, rule:moves, openai:NAME"),
        (["openai:"], "no judge 'openai:'"),
        (["replay:"], "no judge 'replay:'"),
        (["rule", "rule"], "two judges are named 'rule'"),
        (["openai:m@http://user:secret@h/v1"], "must not hold a password"),
        (["openai:m@http:///v1"], "is no URL of an endpoint"),
    ],
)
def test_what_is_no_judge_is_refused(names: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as refused:
        judges_named(names, Conversations(), ModelSettings())
    assert "secret" not in str(refused.value)


def test_prices_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"m": {"prompt": 2.5, "completion": 10}}', encoding="utf-8")
    assert read_prices(file) == {"m": Price(prompt=2.5, completion=10)}
    for content, complaint in (("[", "is no JSON"), ('{"m": {"prompt": -1}}', r"m\.prompt: ")):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match=complaint):
            read_prices(file)
