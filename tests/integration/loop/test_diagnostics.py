"""What is said of an update."""

import pytest

from agentevol.loop.control.diagnostics import remarks

CALM = {
    "logp_gap": 2e-8,
    "logp_gap_tokens": 16384.0,
    "sequences": 100.0,
    "effective_sample_size": 100.0,
    "importance_ess": 0.99,
    "recurrence": 0.4,
}


def test_a_calm_update_says_how_exact_it_was_and_nothing_else():
    assert list(remarks(CALM)) == ["engine and learner differ by 2e-08 in log-probability over 16,384 tokens"]
    assert list(remarks({"logp_gap": float("nan")})) == []  # of demonstrations, which no engine sampled


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (
            {"logp_gap": 0.03},
            "warning, engine and learner differ by 0.03 in log-probability over 16,384 tokens",
        ),
        (
            {"logp_gap": float("nan"), "logp_gap_tokens": 0.0},
            "warning, engine and learner were not compared: no training sequence is of the present weights",
        ),
        (
            {"effective_sample_size": 9.0},
            "warning, the weights of 100 sequences have an effective sample size of 9.0",
        ),
        (
            {"effective_sample_size": 20.0, "sequences_dropped_weightless": 110.0},
            "warning, the weights of 210 sequences have an effective sample size of 20.0",
        ),
        (
            {"drift_events": 3.0},
            "3 turns did not extend the earlier turns: their episodes have several sequences",
        ),
        ({"importance_ess": 0.8}, "warning, importance weights make the tokens worth 80% of their number"),
        ({"recurrence": 0.0}, "no state was met twice: comparing turns of the same state adds nothing here"),
    ],
)
def test_what_calls_for_a_look_is_said(figures: dict[str, float], said: str):
    assert said in list(remarks(CALM | figures))


def test_what_is_just_right_is_not_said():
    fair = CALM | {"logp_gap": 0.02, "effective_sample_size": 10.0, "importance_ess": 0.9}
    assert not any(line.startswith("warning") for line in remarks(fair))
