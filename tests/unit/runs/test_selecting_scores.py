"""Scores by which a run selects: what is refused before it begins."""

import pytest

from agentevol.config.run import load
from agentevol.core.errors import ConfigError
from agentevol.models.resolution import starter_folder
from agentevol.runs.lifecycle import prepared
from agentevol.runs.selecting_scores import check_answers, check_self_judge

SELF = ("algorithm=sft", "select.score=self", "select.rule=best_of")
STARTER = starter_folder("alfworld")


def test_a_judge_with_another_tokenizer_than_the_base_is_refused():
    other = starter_folder("webshop")
    with pytest.raises(ConfigError, match=r"self.judge .* has another tokenizer than the base"):
        check_self_judge(load(None, [*SELF, f"self.judge={other}"]), STARTER, weights=True)
    check_self_judge(load(None, [*SELF, f"self.judge={STARTER}"]), STARTER, weights=True)
    check_self_judge(load(None, SELF), STARTER, weights=True)


def test_a_judge_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="no model 'nowhere'"):
        check_self_judge(load(None, [*SELF, "self.judge=nowhere"]), STARTER, weights=True)


def test_a_run_with_a_missing_judge_does_not_begin():
    with pytest.raises(ConfigError, match="no model 'nowhere'"):
        prepared(load(None, [*SELF, "self.judge=nowhere", "environment.name=alfworld"]))


MAJORITY = ("algorithm=grpo", "reward.consistency=true")
ANSWER = '{"name": "finish", "arguments": {"answer": "no"}}'


def test_majorities_are_refused_where_episodes_end_without_an_answer():
    config = load(None, [*MAJORITY, "environment.name=guess"])
    with pytest.raises(ConfigError, match="final answers, and episodes of guess have none"):
        check_answers(config, [["4", "2"]], 4)
    check_answers(config, [["4"]], 1)  # an environment of one turn
    check_answers(config, [["4", "2"], ["look", ANSWER]], 4)
    check_answers(config, [], 4)  # without players nobody knows
    check_answers(load(None, ["environment.name=guess"]), [["4", "2"]], 4)


def test_a_run_that_compares_answers_does_not_begin_in_rooms():
    with pytest.raises(ConfigError, match="episodes of alfworld have none"):
        prepared(load(None, [*MAJORITY, "environment.name=alfworld"]))
