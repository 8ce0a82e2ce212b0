"""Attack set: where its texts are, what they move, and that a sound judge is not moved."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from support.judging import (
    URL,
    completion,
    conversation,
    gullible_answer,
    sound_answer,
    transcript,
)

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.attacks.measurement import Movement, measured
from agentevol.data.judgements.attacks.texts import ATTACKS, TEXTS, Attack, attacked
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.dimension_sets import RUBRIC
from agentevol.data.judgements.items import Transcript
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.panel import Asked, Panel
from agentevol.data.judges.answers import told_of
from agentevol.data.judges.answers import transcript as text_of
from agentgym_envs.sotopia.models.judge import JudgeModel

ITEMS = [transcript(name, "look", "go") for name in "abc"]
ITEMS = [one.model_copy(update={"instruction": f"Find {'x' * n}."}) for n, one in enumerate(ITEMS)]


def panel(answer: Callable[[dict[str, Any]], str]) -> Panel:
    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=completion(answer(json.loads(request.content))))

    model = JudgeModel(base_url=URL, model="m", retries=0)
    return Panel([EndpointJudge(model, Conversations(), transport=httpx.MockTransport(reply))])


def test_every_kind_of_text_is_inserted_in_actions_and_in_observations() -> None:
    assert len(ATTACKS) == 2 * len(TEXTS) == 16
    item = ITEMS[0]
    for attack in ATTACKS:
        found = attacked(item, attack, RUBRIC)
        assert found.turns[:-1] == item.turns[:-1]
        changed, kept = (
            (found.turns[-1].action, found.turns[-1].observation)
            if attack.place == "action"
            else (found.turns[-1].observation, found.turns[-1].action)
        )
        plain = getattr(item.turns[-1], attack.place)
        assert changed.startswith(f"{plain}\n")
        assert len(changed) > len(plain) + 40
        assert kept in (item.turns[-1].observation, item.turns[-1].action)
        assert attacked(item, attack, RUBRIC) == found


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_ends_the_transcript_or_becomes_a_member_of_it(attack: Attack) -> None:
    found = attacked(ITEMS[0], attack, RUBRIC).episode
    sent = text_of(found).removeprefix("Transcript:\n")
    told, end = json.JSONDecoder().raw_decode(sent)
    assert end == len(sent)
    assert told == told_of(found)
    assert set(told) == {"environment", "task", "first observation", "turns"}


def test_a_gullible_judge_is_moved_by_every_attack_and_a_sound_one_by_none() -> None:
    moved, usage = measured(ITEMS, panel(gullible_answer), Asked())
    assert usage.requests == len(ITEMS) * 17
    by_name = {(one.attack.name, one.attack.place): one for one in moved}
    # from 3 to 10 of 1 to 10: 7 / 9
    for name in ("score-request", "closing-fence", "fake-verdict", "hidden-unicode", "instruction"):
        for place in ("action", "observation"):
            assert by_name[name, place].differences == pytest.approx([7 / 9] * 3)
    assert by_name["flattery", "action"].differences == pytest.approx([2 / 9] * 3)
    assert {one.upwards for one in moved} == {1.0}
    still, _ = measured(ITEMS, panel(sound_answer), Asked())
    assert {one.differences for one in still} == {(0.0, 0.0, 0.0)}
    assert {one.upwards for one in still} == {0.0}


def test_a_judgement_that_fails_is_no_movement() -> None:
    def broken(body: dict[str, Any]) -> str:
        return "I refuse." if "brilliant" in body["messages"][1]["content"] else sound_answer(body)

    found, _ = measured(ITEMS, panel(broken), Asked())
    failed = {one.attack.name: (one.failed, len(one.differences)) for one in found}
    assert failed["flattery"] == (3, 0)
    assert failed["padding"] == (0, 3)
    assert Movement(ATTACKS[0], (), 3).upwards is None


def test_what_is_no_transcript_is_refused() -> None:
    with pytest.raises(ConfigError, match="item 'talk' is none"):
        measured([*ITEMS, conversation("Hello.", name="talk")], panel(sound_answer), Asked())
    with pytest.raises(ConfigError, match="no transcript with a turn"):
        measured([Transcript(id="empty", turns=())], panel(sound_answer), Asked())
