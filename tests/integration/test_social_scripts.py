"""Scripted policies of the social worlds stay where they are declared, in every split."""

import pytest

from agentgym_envs.social import Social
from agentgym_envs.social.scripts.suite import measure, violations
from agentgym_envs.social.scripts.table import POLICIES, Entry
from benchmarks import social

FAMILIES = list(POLICIES)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_no_script_earns_more_than_it_may(split: str) -> None:
    scores = measure(Social(), 600, [split])
    assert violations(scores) == {}
    means = {(one.family, one.policy): one for one in scores}
    assert len(means) == sum(len(policies) for policies in POLICIES.values())
    for family in FAMILIES:
        best = means[family, "expert"].reward
        assert means[family, "silent"].highest == 0
        for one in (one for one in scores if one.family == family):  # the means themselves, without allowance
            assert one.rule != "constant" or one.goal <= 0.6 * 10 * best
            assert one.rule != "blind" or one.reward <= 0.87 * best  # 85 % and the spread of 600 episodes
    for family in ("price", "split", "schedule"):
        order = [means[family, name].reward for name in ("silent", "random", "accept_first", "expert")]
        assert order == sorted(order)


def test_plans_that_are_known_to_earn_much_without_listening_are_measured() -> None:
    scores = {one.policy: one for one in measure(Social("split,schedule"), 90, ["train"])}
    assert {name for name, one in scores.items() if one.rule == "open"} == {
        "fresh_demands",
        "slots_then_none",
    }
    assert scores["fresh_demands"].reward > scores["falling"].reward
    assert scores["slots_then_none"].reward > scores["slots_in_order"].reward


def test_the_suite_notices_what_earns_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = POLICIES["split"]
    monkeypatch.setitem(
        POLICIES, "split", {**entries, "silent": Entry(entries["accept_first"].policy, "zero")}
    )
    told = violations(measure(Social("split"), 30, ["train"]))
    assert list(told) == ["split/silent"]
    cheats = {**entries, "eight": Entry(entries["expert"].policy, "constant")}
    monkeypatch.setitem(POLICIES, "split", cheats)
    assert "split/eight" in violations(measure(Social("split"), 300, ["train"]))


def test_the_benchmark_prints_the_label_and_a_row_for_each_policy(capsys: pytest.CaptureFixture[str]) -> None:
    social.main(["--tasks", "9", "--families", "secrets"])
    lines = capsys.readouterr().out.splitlines()
    assert "not a measure of social intelligence" in lines[0]
    assert [line.split()[:2] for line in lines[3:]] == [["secrets", name] for name in POLICIES["secrets"]]
    assert lines[-1].split()[3:6] == ["10.00", "±", "0.00"]
