import re
from pathlib import Path

import pytest

from agentevol.config.run import RunConfig, TrainConfig, load, validated
from agentevol.core.errors import ConfigError


def test_overrides_win_over_the_file_and_the_file_over_the_defaults(tmp_path: Path):
    file = tmp_path / "run.toml"
    file.write_text('iterations = 3\n[explore]\ntasks = 7\nsamples = 2\n[environment]\nname = "guess"\n')
    config = load(file, ["explore.tasks=9", "learn.learning_rate=2e-5"])
    assert (config.iterations, config.explore.tasks, config.explore.samples) == (3, 9, 2)
    assert config.learn.learning_rate == 2e-5
    assert config.environment.name == "guess"


def test_a_section_given_in_part_keeps_the_runs_own_defaults_for_the_rest():
    assert load(None, ["learn.epochs=1"]).learn.learning_rate == RunConfig().learn.learning_rate
    assert load(None, ["learn.epochs=1"]).learn.epochs == 1


def test_a_world_has_settings_of_its_own_below_the_algorithms_and_the_users():
    shop = load(None, ["env=webshop"])
    assert (shop.base, shop.start, shop.explore.tasks) == ("starter:webshop", "base", 200)
    assert (shop.explore.difficulty, shop.evaluate.validation_episodes) == ("small", 250)
    own = load(None, ["env=webshop", "start=latest", "explore.tasks=9", "base=starter"])
    assert (own.base, own.start, own.explore.tasks) == ("starter:webshop", "latest", 9)
    assert load(None, ["env=alfworld"]).start == RunConfig().start == "latest"
    assert [load(None, named).select.per_task for named in ([], ["env=alfworld"], ["env=webshop"])] == [
        2,
        2,
        4,
    ]
    assert load(None, ["algorithm=weighted_bc"]).select.per_task is None, (
        "what the algorithm says goes before"
    )


def test_a_conversation_has_an_algorithm_of_its_own_unless_another_one_is_named():
    talk = load(None, ["env=social"])
    assert (talk.base, talk.environment.seats, talk.learn.algorithm) == ("starter:social", 1, "grpo")
    assert (talk.learn.learning_rate, talk.learn.options, talk.explore.tasks) == (
        2e-4,
        {"kl_coef": 0.05},
        180,
    )
    assert (talk.evaluate.measure, talk.select.rule) == ("reward", "all")

    assert load(None, ["env=social", "algorithm=grpo"]) == talk
    assert load(None, ["env=social", "learn.learning_rate=1e-3"]).learn.batch_tokens == 32768
    copied = load(None, ["env=social", "algorithm=sft"])
    assert (copied.learn.algorithm, copied.learn.options, copied.learn.reference) == ("sft", {}, "start")
    assert load(None, []).learn.algorithm == "agentevol"


def test_the_starter_of_the_social_worlds_plays_their_tasks_in_sotopia():
    talk = load(None, ["env=sotopia", "environment.options.partner_model=NAME"])
    assert (talk.base, talk.learn.algorithm) == ("starter:social", "grpo")
    assert talk.environment.options == {"actions": "text", "partner_model": "NAME"}
    thinks = load(None, ["env=sotopia", "environment.format=modes"])
    assert thinks.base == "starter:social-modes"


def test_a_level_may_be_a_number():
    assert load(None, ["env=social", "explore.difficulty=1"]).explore.difficulty == "1"
    with pytest.raises(ConfigError, match=r"explore\.difficulty: Input should be a valid string"):
        load(None, ["env=social", "explore.difficulty=true"])


@pytest.mark.parametrize(
    ("algorithm", "start"), [("softmax_bc", "base"), ("grpo", "latest"), ("dpo", "latest")]
)
def test_only_what_imitates_episodes_begins_anew_in_the_shop(algorithm: str, start: str):
    assert load(None, ["env=webshop", f"algorithm={algorithm}"]).start == start


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("lern.epochs=2", "unknown key 'lern'"),
        ("learn.epoch=2", "unknown key 'learn.epoch'"),
        ("learn.epochs=two", "learn.epochs"),
        ("explore.tasks=0", "explore.tasks"),
        ("select.rule=best", "select.rule"),
        ("learn.algorithm=gpo", "gpo"),
        ("nonsense", "key.path=value"),
        ("seed.x=1", "seed"),
        ("table=/shared/table", "table.*begins with s3://"),
        ("table=ftp://host/table", "table.*begins with s3://"),
        ("checkpoints=/shared/checkpoints", "checkpoints.*begins with s3://"),
    ],
)
def test_a_bad_override_is_named(override: str, complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        load(None, [override])


def test_a_setting_without_effect_is_refused():
    with pytest.raises(ConfigError, match="no effect"):
        load(None, ["demonstrations.tasks=5", "demonstrations.clone=false", "select.merge=none"])


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            ["algorithm=grpo", "process.beta=0.1"],
            "process.beta is no setting of process 'environment'; it belongs to: continuations,",
        ),
        (["algorithm=dpo", "process.continuations=4"], "'dpo' learns from pairs"),
        (["process.continuations=4"], "'agentevol' learns from episodes"),
        (["algorithm=grpo", "process.continuations=4", "process.options.hrd=true"], "hrd"),
        (["algorithm=grpo", "process.continuations=4", "process.beta=0"], "process.beta"),
    ],
)
def test_process_rewards_are_for_algorithms_that_read_rewards(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides)


def test_the_process_reward_model_learns_as_the_policy_does_but_for_what_is_its_own():
    given = ["process.continuations=4", "process.options.trust_samples=true", "learn.batch_tokens=99"]
    config = load(None, ["algorithm=grpo", *given])
    own = config.process_learn
    assert (own.algorithm, own.options) == ("process_reward", {"trust_samples": True})
    assert (own.batch_tokens, own.epochs, own.keep_moments) == (99, 2, False)
    assert config.learn.algorithm == "grpo"


def test_the_resolved_configuration_is_a_valid_input(tmp_path: Path):
    config = load(None, ["seed=3", "explore.difficulty=null", "environment.options.dialect=put"])
    file = tmp_path / "config.toml"
    file.write_text(config.to_toml())
    again = load(file)
    assert again == config


def test_the_place_of_the_table_has_no_slash_at_its_end():
    assert load(None, ["table=s3://bucket/a/"]).table == "s3://bucket/a"


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ([], "checkpoints has no effect without ray.address"),
        (
            ["ray.address=auto", "engine=vllm", "engine.url=http://h:1"],
            "servers of engine.url read the run's",
        ),
        (["ray.address=auto", "table=s3://bucket/a/c"], "checkpoints and table lie in one another"),
        (["ray.address=auto", "table=s3://bucket/a/c/table"], "checkpoints and table lie in one another"),
        (["ray.address=auto", "table=s3://bucket"], "checkpoints and table lie in one another"),
    ],
)
def test_checkpoints_are_in_an_object_store_where_somebody_reads_them_there(
    overrides: list[str], complaint: str
):
    with pytest.raises(ConfigError, match=complaint):
        load(None, ["checkpoints=s3://bucket/a/c", *overrides])


def test_checkpoints_and_table_lie_beside_one_another():
    places = ["checkpoints=s3://bucket/a/c", "table=s3://bucket/a/c-table"]
    config = load(None, ["ray.address=auto", *places])
    assert (config.checkpoints, config.table) == ("s3://bucket/a/c", "s3://bucket/a/c-table")


def test_none_survives_the_way_through_the_file(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text(load(None, ["explore.difficulty=null"]).to_toml())
    assert load(file).explore.difficulty is None


@pytest.mark.parametrize(("text", "complaint"), [("a = ", "TOML"), ("[explore]\ntask = 1", "explore.task")])
def test_a_bad_file_is_named(tmp_path: Path, text: str, complaint: str):
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        load(file)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load(tmp_path / "nowhere.toml")


def test_official_data_choose_their_own_splits():
    official = validated({"environment": {"data": "official"}})
    assert (official.explore_split, official.evaluate_split) == ("official_train", "valid_unseen")
    assert official.validate_split == "valid_seen"
    assert (RunConfig().explore_split, RunConfig().evaluate_split) == ("train", "test")


def test_the_name_of_a_reward_models_algorithm_sets_up_a_run_that_learns_from_one():
    compared, valued = load(None, ["algorithm=bradley_terry"]), load(None, ["algorithm=process_reward"])
    assert (compared.learn.algorithm, compared.reward.refresh) == ("grpo", True)
    assert (compared.pairs.strategy, compared.select.rule) == ("all_capped", "all")
    assert (valued.learn.algorithm, valued.process.continuations) == ("reinforce_pp", 4)
    assert load(None, ["algorithm=process_reward", "learn.algorithm=ppo"]).learn.algorithm == "ppo"
    assert load(None, ["algorithm=bradley_terry"], kind=TrainConfig).learn.algorithm == "bradley_terry"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["reward.refresh=true", "reward.patience=2"], "it belongs to: function, model"),
        (["reward.epochs=2", "reward.model=judge"], "it belongs to: model with reward.refresh"),
        (["reward.refresh=true", "reward.options.head=2"], "head"),
        (["learn.algorithm=bradley_terry"], "algorithm=bradley_terry alone sets up a run"),
    ],
)
def test_a_reward_model_that_cannot_learn_so_is_refused(overrides: list[str], message: str):
    with pytest.raises(ConfigError, match=message):
        load(None, ["algorithm=grpo", *overrides])


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            ["rollout.max_staleness=3"],
            "rollout.max_staleness is no setting of rollout 'synchronous'; it belongs to: asynchronous",
        ),
        (
            ["rollout.mode=one_step_off", "rollout.in_flight=abort"],
            "rollout.in_flight is no setting of rollout 'one_step_off'; it belongs to: asynchronous",
        ),
        (["rollout.mode=one_step_off", "iterations=1"], "no effect in one iteration"),
        (
            ["rollout.mode=one_step_off", "horizon.rounds=[3, 4]", "horizon.success=0.5"],
            "horizon.success waits for evaluations",
        ),
        (["rollout.mode=asynchronous", "protect.own.points=1"], "take 'one_step_off'"),
    ],
)
def test_rounds_explored_ahead_ask_for_what_they_can_have(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides)


def test_stale_tokens_are_weighted_by_importance_unless_told_otherwise():
    def options(*overrides: str) -> dict[str, object]:
        return dict(load(None, ["algorithm=grpo", *overrides]).learn.options)

    assert options() == {}
    assert options("rollout.mode=one_step_off") == {"importance": "token"}
    assert options("rollout.mode=asynchronous", "learn.options.importance=none") == {"importance": "none"}
    # log-probabilities of the engine's own are compared with nothing
    assert options("rollout.mode=asynchronous", "learn.old_logprobs=rollout") == {}
    # imitation has no ratio to correct
    assert load(None, ["rollout.mode=asynchronous"]).learn.options == {}
