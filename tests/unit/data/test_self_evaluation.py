"""Scores from digits, their quality against outcomes, and what a judge is shown: literal values."""

import asyncio
import math
from collections.abc import Sequence

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.core.errors import ConfigError
from agentevol.core.judges import JudgedEpisode, JudgedTurn
from agentevol.core.protocols import Conversation
from agentevol.data.self_evaluation.digits import digit_tokens, expected_score
from agentevol.data.self_evaluation.quality import Quality, auc_interval, quality
from agentevol.data.self_evaluation.rubric import messages
from agentevol.data.self_evaluation.sampled import SampledDigits
from agentevol.engines.scripted import said
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import word_tokenizer
from agentgym_store.records import Sample, Trajectory, Turn


def logp(**digits: float) -> np.ndarray:
    """Log-probabilities of the digits 1 to 9; those that are not named have none."""
    with np.errstate(divide="ignore"):
        return np.log([digits.get(f"d{digit}", 0.0) for digit in range(1, 10)])


def test_a_score_is_the_expected_digit_among_digits_whatever_other_tokens_take():
    score, mass = expected_score(logp(d7=0.2, d9=0.2))
    assert score == pytest.approx((8 - 1) / 8)
    assert mass == pytest.approx(0.4)
    assert expected_score(logp(d7=0.5, d9=0.5))[0] == pytest.approx((8 - 1) / 8)
    assert expected_score(logp(d1=1.0)) == (0.0, 1.0)
    assert expected_score(logp(d9=1e-300))[0] == 1.0
    assert expected_score(logp(d7=0.3, d9=0.1))[0] == pytest.approx(
        (7.5 - 1) / 8
    )  # and not the same as above


def test_digits_that_are_tokens_are_found_and_a_tokenizer_without_them_is_refused():
    tokenizer = word_tokenizer(["1 2 3"])
    found = digit_tokens(ChatRenderer(tokenizer))
    assert found.prefix == ()
    assert found.ids == tuple(tokenizer.get_vocab()[str(digit)] for digit in range(1, 10))

    class Bytewise(ChatRenderer):
        def beginning_ids(self, text: str) -> list[int]:
            return [7, 8] if text == "9" else [7, 8, int(text)]

    with pytest.raises(ConfigError, match=r"self.judge: the tokenizer has no token for each of the digits"):
        digit_tokens(Bytewise(tokenizer))


def test_a_mark_of_a_word_before_all_digits_belongs_to_the_prompt():
    class Marked(ChatRenderer):
        def beginning_ids(self, text: str) -> list[int]:
            return [5, 100 + int(text)]

    found = digit_tokens(Marked(word_tokenizer(["a"])))
    assert found == ((5,), (101, 102, 103, 104, 105, 106, 107, 108, 109))


def test_the_last_observation_is_hidden_unless_it_is_asked_for():
    turns = (JudgedTurn("4", "Go higher than 4."), JudgedTurn("6", "Right."))
    episode = JudgedEpisode("guess", "t", "Find it.", "Make a guess.", turns)
    hidden, shown = (messages(episode, shows_end=end)[0].content for end in (False, True))
    assert "Right." in shown
    assert "Right." not in hidden
    assert "Go higher than 4." in hidden
    assert messages(JudgedEpisode("guess", "t", "", "", ()), shows_end=False)


def judged(name: str, task: str, won: bool, tokens: int = 1) -> Trajectory:
    sample = Sample(
        text="a", prompt_ids=(1,), token_ids=(2,) * tokens, logprobs=(-1.0,) * tokens, policy_version=0
    )
    turn = Turn(action="a", observation="", reward=float(won), sample=sample)
    return trajectory(id=name, task_id=task, turns=(turn,))


FOUR = [
    judged("a", "t", True, 4),
    judged("b", "t", True, 3),
    judged("c", "u", False, 3),
    judged("d", "u", False),
]
SCORES = {"a": 0.9, "b": 0.6, "c": 0.6, "d": 0.1}


def test_quality_of_four_scores_by_hand():
    found = quality(FOUR, SCORES, seed=0)
    assert (found.won, found.lost) == (2, 2)
    assert found.auc == pytest.approx(3.5 / 4)
    assert found.brier == pytest.approx((0.01 + 0.16 + 0.36 + 0.01) / 4)
    # bins: 0.1 (d: gap -0.1), 0.6 (b, c: 1 - 1.2 = -0.2), 0.9 (a: gap 0.1)
    assert found.calibration == pytest.approx((0.1 + 0.2 + 0.1) / 4)
    assert found.mean == pytest.approx(0.55)
    assert found.tokens > 0.8
    assert quality(FOUR, {"a": 0.1, "b": 0.2, "c": 0.8, "d": 0.9}, seed=0).auc == 0.0


def test_episodes_without_a_score_or_one_outcome_alone_have_no_auc():
    found = quality(FOUR, {"a": 0.9, "b": 0.6}, seed=0)
    assert (found.won, found.lost) == (2, 0)
    assert math.isnan(found.auc)
    assert not found.is_distrusted(0.5)
    assert "self_auc" not in found.figures()
    assert found.sentence() == "no AUC of 2 won and 0 lost episodes"
    assert quality([], {}, seed=0).figures() == {}


def test_the_interval_resamples_tasks_so_that_few_tasks_have_a_wide_one():
    # 40 episodes in 2 tasks, each with one outcome: whole tasks tell as much as 2 episodes
    score = np.asarray([0.6] * 20 + [0.4] * 20)
    label = np.asarray([1.0] * 19 + [0.0] + [1.0] + [0.0] * 19)
    low, high = auc_interval([20, 20], score, label, seed=0)
    apart = auc_interval([1] * 40, score, label, seed=0)
    assert low == 0.5  # a draw of one task twice: all scores equal
    assert apart[0] > 0.8
    assert low <= 0.95 <= high
    assert auc_interval([20, 20], score, label, seed=0) == (low, high)
    assert all(math.isnan(end) for end in auc_interval([], np.zeros(0), np.zeros(0), seed=0))


@pytest.mark.parametrize(
    ("won", "lost", "low", "distrusted"),
    [
        (10, 10, 0.5, True),
        (10, 10, 0.51, False),
        (9, 90, 0.2, False),
        (90, 9, 0.2, False),
        (10, 10, 0.2, True),
    ],
)
def test_scores_are_distrusted_at_the_bound_and_with_ten_of_each_outcome(
    won: int, lost: int, low: float, distrusted: bool
):
    found = Quality(won, lost, 0.5, 0.6, low, 0.8, 0.2, 0.1, 0.0)
    assert found.is_distrusted(0.5) is distrusted


class Talker:
    """A policy that gives these answers in turn."""

    name, version = "talker", 0

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers, self.released = list(answers), 0

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        return said(self.answers[seed % len(self.answers)])

    def release(self, conversation_id: str) -> None:
        self.released += 1


EPISODE = JudgedEpisode("guess", "t", "Find it.", "Make a guess.", (JudgedTurn("6", "Right."),))


def test_sampled_digits_are_averaged_and_answers_without_one_do_not_count():
    talker = Talker(["9", "Score: 7.", "I cannot say", "10", "12345"])
    verdict = asyncio.run(SampledDigits(talker, 5, shows_end=True, seed=0).judge(EPISODE))
    assert verdict.score == pytest.approx((8 - 1) / 8)
    assert talker.released == 5


def test_without_any_digit_there_is_no_score_but_a_reason():
    judge = SampledDigits(Talker(["none"]), 3, shows_end=True, seed=0)
    verdict = asyncio.run(judge.judge(EPISODE))
    assert (verdict.score, verdict.reason) == (None, "no digit from 1 to 9 in 3 answers")
    assert judge.version != SampledDigits(Talker(["none"]), 4, shows_end=True, seed=0).version
