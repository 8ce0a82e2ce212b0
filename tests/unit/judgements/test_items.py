"""Items and sets of dimensions: their forms, and what is refused with its place."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.judging import conversation, log_of

from agentevol.core.errors import ConfigError
from agentevol.core.judges import JudgedEpisode, JudgedTurn
from agentevol.data.judgements.dimension_sets import RUBRIC, dimensions_of, read_dimensions
from agentevol.data.judgements.items import ITEM, Conversation, Episode, Social, Transcript
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

SPEAK = {"action_type": "speak", "argument": "Hello."}
NOTHING = {"action_type": "none"}
TALK = {"background": "b", "names": ["A", "B"], "log": [[SPEAK, NOTHING]]}
COURTESY = {"name": "courtesy", "low": 0, "high": 4, "description": "Is it polite?"}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"type": "conversation", **TALK}, Conversation),
        (TALK, Conversation),
        ({"type": "episode", "episode": log_of("e", "Hello.")}, Episode),
        ({"type": "social", "task_id": "test/price/1/0", "seed": 7, "log": [[SPEAK, NOTHING]]}, Social),
        ({"type": "transcript", "turns": [{"action": "look", "observation": "a lamp"}]}, Transcript),
        ({"turns": []}, Transcript),
        ({"episode": log_of("e", "Hello.")}, Episode),
        ({"task_id": "test/price/1/0", "seed": 7, "log": []}, Social),
    ],
)
def test_items_of_every_type_are_read(given: dict[str, Any], kind: type) -> None:
    assert type(ITEM.validate_python(given)) is kind
    assert type(ITEM.validate_json(json.dumps(given))) is kind


@pytest.mark.parametrize(
    ("given", "place", "complaint"),
    [
        ({**TALK, "names": ["A"]}, ("names", 1), "required"),
        ({**TALK, "names": ["A", ""]}, ("names", 1), "at least 1 character"),
        ({**TALK, "log": [[SPEAK]]}, ("log", 0, 1), "required"),
        (
            {**TALK, "log": [[{"action_type": "shout"}, NOTHING]]},
            ("log", 0, 0, "action_type"),
            "Input should be",
        ),
        ({**TALK, "score": 10}, ("score",), "not permitted"),
        ({"turns": [{"action": 3}]}, ("turns", 0, "action"), "valid string"),
        ({"turns": [], "seat": -1}, ("seat",), "greater than or equal to 0"),
        ({"type": "social", "task_id": "t", "seed": True, "log": []}, ("seed",), "valid integer"),
        (
            {"type": "episode", "episode": {"pk": "e"}},
            ("episode",),
            r"episode \(e\): environment: Field required",
        ),
        ({"type": "poem"}, (), "does not match any of the expected tags"),
        (
            {**TALK, "dimensions": [COURTESY, COURTESY]},
            ("dimensions",),
            "two dimensions are named 'courtesy'",
        ),
    ],
)
def test_what_is_no_item_is_refused_with_its_place(
    given: dict[str, Any], place: tuple[str | int, ...], complaint: str
) -> None:
    with pytest.raises(ValidationError, match=complaint) as refused:
        ITEM.validate_python(given)
    assert any(error["loc"][1 : len(place) + 1] == place for error in refused.value.errors())


def test_the_digest_is_of_the_content_alone() -> None:
    one = conversation("Hello.", name="one")
    assert one.digest == conversation("Hello.", name="two").digest
    changed = [
        conversation("Hello!"),
        conversation("Hello.", background="b"),
        conversation("Hello.", scene=None),
    ]
    assert len({one.digest, *(item.digest for item in changed)}) == 4
    assert conversation("\ud800").digest != conversation("?").digest


def test_an_episode_of_a_run_is_an_item_and_back() -> None:
    episode = JudgedEpisode("house", "t", "Find it.", "A hall.", (JudgedTurn("look", "A lamp."),), 1)
    assert Transcript.of(episode).episode == episode
    broken = JudgedEpisode("house", "t", "Find \ud800.", "", ())
    assert Transcript.of(broken).instruction == "Find ?."


def test_sets_of_dimensions_by_name_and_of_a_file(tmp_path: Path) -> None:
    assert dimensions_of(read_dimensions("sotopia")) == SOTOPIA
    assert dimensions_of(read_dimensions("rubric")) == RUBRIC
    file = tmp_path / "own.json"
    file.write_text(json.dumps([COURTESY]), encoding="utf-8")
    (found,) = dimensions_of(read_dimensions(str(file)))
    assert (found.name, found.low, found.high, found.description) == ("courtesy", 0, 4, "Is it polite?")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("[", "is no JSON"),
        ("[]", "at least 1 item"),
        (json.dumps([COURTESY, COURTESY]), "two dimensions are named 'courtesy'"),
        (json.dumps([{**COURTESY, "low": 4}]), r"0: .*low 4 is not below high 4"),
        (json.dumps([{**COURTESY, "low": 0.5}]), r"0\.low: Input should be a valid integer"),
        (json.dumps([{**COURTESY, "name": "a\nb"}]), r"0\.name: "),
        (json.dumps([{"name": "a", "low": 0}]), r"0\.high: Field required"),
        (json.dumps([{**COURTESY, "name": str(number)} for number in range(33)]), "at most 32 items"),
    ],
)
def test_a_file_that_is_no_set_of_dimensions_is_one_line(
    tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "own.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=complaint) as refused:
        read_dimensions(str(file))
    assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError, match="no dimensions 'kindness': give sotopia, rubric, or a file"):
        read_dimensions("kindness")
