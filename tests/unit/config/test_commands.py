"""Command lines that lead on from a run."""

import shlex

from agentevol.config.commands import command, evaluation_command
from agentevol.config.run import RunConfig


def test_a_model_is_measured_on_the_tasks_that_the_run_holds_out() -> None:
    settings = {
        "environment": {
            "name": "alfworld",
            "max_turns": 20,
            "format": "react",
            "options": {"b": True, "d": "x y"},
        },
        "evaluate": {"difficulty": "medium", "episodes": 50, "temperature": 0.5},
    }
    assert evaluation_command(settings, "a model", "after.jsonl", "valid_unseen") == (
        "agentevol eval --model 'a model' --env alfworld --split valid_unseen --difficulty medium"
        " --episodes 50 --max-turns 20 --temperature 0.5 --format react --records after.jsonl"
        " environment.options.b=true 'environment.options.d=x y'"
    )


def test_what_a_run_leaves_open_is_no_option() -> None:
    settings = RunConfig.model_validate({"environment": {"name": "guess"}}).model_dump(mode="json")
    assert evaluation_command(settings, "m", "r.jsonl") == (
        "agentevol eval --model m --env guess --episodes 200 --records r.jsonl"
    )
    settings["environment"]["max_turns"] = "null"  # as in a file
    assert "--max-turns" not in evaluation_command(settings, "m", "r.jsonl")


def test_the_partner_of_a_run_is_named() -> None:
    def partner(**environment: object) -> list[str]:
        words = shlex.split(evaluation_command({"environment": {"name": "social", **environment}}, "m", "r"))
        return words[words.index("--partner") :][1:2] if "--partner" in words else []

    assert partner(partner="policy", seats=None) == []
    assert partner(partner="policy", seats=1) == ["environment"]
    assert partner(partner="starter", seats=None) == ["starter:social"]
    assert partner(partner="random", seats=None) == ["random"]


def test_words_are_quoted_for_a_shell() -> None:
    assert command("run", "--resume", "a b;c") == "agentevol run --resume 'a b;c'"
