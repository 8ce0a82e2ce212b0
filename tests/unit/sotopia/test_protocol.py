"""Sotopia's protocol: views, turns and ends, replies of agents and judges, what the package loses."""

import json

import pytest

from agentgym_envs.sotopia.protocol.actions import NOTHING, Action, ReplyError, from_json, from_text
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, TurnError, masks
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import JudgementError, read_judgement
from agentgym_envs.sotopia.protocol.markup import shown_to, untagged
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene
from agentgym_envs.sotopia.protocol.prompts import agent_prompt, judge_prompt
from agentgym_envs.sotopia.protocol.views import VIEWS, View, background, judge_background

ANA = AgentProfile(
    pk="a",
    first_name="Ana",
    last_name="Reed",
    age=41,
    occupation="Baker",
    gender="Woman",
    gender_pronoun="She/her",
    public_info="Ana bakes bread.",
    personality_and_values="Ana is calm.",
    secret="Ana sold the oven.",
)
BO = AgentProfile(pk="b", first_name="Bo", last_name="Lind", age=30, occupation="Clerk", gender="Other")
GOALS = ("Sell (<extra_info>for 5</extra_info>)", 'Buy <p viewer="environment">the bread</p>')


def scene(relationship: int = 3) -> Scene:
    environment = EnvironmentProfile(
        pk="e",
        scenario="A market. <p viewer='agent_1'>It rains.</p>",
        agent_goals=GOALS,
        relationship=relationship,
    )
    return Scene(environment=environment, agents=(ANA, BO))


def say(text: str) -> Action:
    return Action(action_type="speak", argument=text)


def conversation(rules: Rules = Rules(), seed: int = 0) -> Conversation:  # noqa: B008
    return Conversation(("Ana Reed", "Bo Lind"), ("one", "two"), rules, masks(rules.order, seed))


@pytest.mark.parametrize(
    ("relationship", "known"),
    [
        (0, "Unknown"),
        (1, "Ana Reed "),
        (2, "Ana Reed is a 41-year-old female baker. She/her pronouns. Ana bakes bread. "),
        (
            3,
            "Ana Reed is a 41-year-old female baker. She/her pronouns. Ana bakes bread. "
            "Personality and values description: Ana is calm. ",
        ),
    ],
)
def test_a_partner_is_known_by_relationship(relationship: int, known: str) -> None:
    text = background(scene(relationship), 1, "relationship")
    assert f"Ana Reed's background: {known}\n" in text
    assert "sold the oven" not in text


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_the_own_goal_and_who_reads_what(view: View) -> None:
    first, second = background(scene(), 0, view), background(scene(), 1, view)
    assert "Ana Reed's goal: Sell (for 5)" in first
    assert ("Bo Lind's goal: Unknown" in first) == (view != "omniscient")
    assert ("sold the oven" in first) == (view != "lite")
    assert ("sold the oven" in second) == (view in ("omniscient", "ampo"))
    assert ("It rains." in first) == (view in ("omniscient", "ampo"))
    assert "It rains." in second
    assert ("the bread" in second) == (view in ("omniscient", "ampo"))


def test_the_judge_reads_everything_but_in_lite_no_backgrounds() -> None:
    text = judge_background(scene())
    assert "Ana Reed's goal: Sell (for 5)\nBo Lind's goal: Buy the bread" in text
    assert "sold the oven" in text
    assert "Scenario: A market. It rains." in text
    assert "background" not in judge_background(scene(), "lite")


def test_an_omniscient_seat_reads_what_the_judge_reads() -> None:
    assert background(scene(), 0, "omniscient") == judge_background(scene())


def test_white_space_after_the_last_background_is_lost_as_in_the_release_of_the_view() -> None:
    assert BO.biography.endswith("Bo's secrets: ")  # BO has none
    for view in ("package", "omniscient"):
        assert "\nBo Lind's background: Bo Lind is a 30-year-old  clerk." in background(scene(), 1, view)
        assert "Bo's secrets:\nAna Reed's goal" in background(scene(), 1, view)
    assert "Bo's secrets:\nAna Reed's goal" in judge_background(scene())
    assert "Bo's secrets: \nAna Reed's goal" in background(scene(), 1, "relationship")


def test_an_unlisted_gender_has_no_adjective() -> None:
    assert BO.identity == "Bo Lind is a 30-year-old  clerk.  pronouns."


def test_only_the_closed_set_of_tags_is_markup() -> None:
    text = "a & b < c <b>bold</b> <extra_info>x</extra_info>"
    assert shown_to("agent_0", text) == untagged(text) == "a & b < c <b>bold</b> x"


def test_seats_act_in_turn_and_an_action_out_of_turn_changes_nothing() -> None:
    talk = conversation()
    with pytest.raises(TurnError, match="it is the turn of Ana Reed"):
        talk.apply({1: say("hi")})
    with pytest.raises(TurnError):
        talk.apply({})
    assert talk.log == []
    talk.apply({0: say("hi")})
    assert talk.available(0) == ("none",)
    assert talk.last_turn(1) == 'Ana Reed said: "hi"'
    assert talk.observations(1) == ["\ntwo\nConversation Starts:\n", 'Turn #0: Ana Reed said: "hi"\n']


def test_leaving_ends_at_once_and_nothing_is_accepted_after_it() -> None:
    talk = conversation()
    talk.apply({0: Action(action_type="leave", argument="ignored")})
    assert talk.end_reasons == ("left",)
    assert talk.acting == (False, False)
    assert talk.heard == ["Ana Reed left the conversation"]
    with pytest.raises(TurnError, match="over"):
        talk.apply({1: say("wait")})


def test_all_reasons_of_an_end_are_kept() -> None:
    talk = conversation(Rules(max_turns=1, max_stale=0))
    talk.apply({0: NOTHING})
    assert talk.end_reasons == ("too_long", "stale")
    assert talk.comments == "The conversation is too long; The conversation stales for too long; "


def test_the_package_counts_the_silence_of_masked_seats() -> None:
    strict, lenient = conversation(), conversation(Rules(stale_rule="own"))
    for talk in (strict, lenient):
        talk.apply({0: say("hi")})
        talk.apply({1: NOTHING})
    assert strict.end_reasons == ("stale",)
    assert not lenient.ended
    lenient.apply({0: NOTHING})
    lenient.apply({1: NOTHING})
    assert lenient.end_reasons == ("stale",)


def test_a_silence_of_the_first_seat_does_not_end_it() -> None:
    talk = conversation()
    talk.apply({0: NOTHING})
    assert not talk.ended
    talk.apply({1: say("hello?")})
    assert not talk.ended


def test_simultaneous_seats_hear_both_at_once() -> None:
    talk = conversation(Rules("simultaneous"))
    talk.apply({0: say("a"), 1: Action(action_type="action", argument="waves")})
    assert talk.last_turn(0) == talk.last_turn(1) == 'Ana Reed said: "a";Bo Lind [action] waves'


def test_a_random_order_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[tuple[bool, bool]]:
        schedule = masks("random", seed)
        return [next(schedule) for _ in range(40)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert set(drawn(1)) == {(True, False), (False, True)}


def test_words_of_an_agent_fill_no_placeholder() -> None:
    talk = conversation()
    talk.apply({0: say("{action_list} {format_instructions} did nothing")})
    prompt = agent_prompt(talk, 1)
    assert 'said: "{action_list} {format_instructions} did nothing"' in prompt
    judged = judge_prompt("background", talk.names, talk.log, SOTOPIA)
    assert 'Turn #1\nAna Reed said: "{action_list} {format_instructions} did nothing"\n' in judged


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('{"action_type": "speak", "argument": "hi"}', say("hi")),
        ('```json\n{"action_type": "leave", "argument": ""}\n```', Action(action_type="leave")),
        ('{"action_type": "none", "argument": "", "to": []}', NOTHING),
    ],
)
def test_json_replies(reply: str, action: Action) -> None:
    assert from_json(reply) == action


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("hello", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"action_type": "shout", "argument": ""}', "not one of none, speak"),
        ('{"action_type": ["speak"], "argument": ""}', "not one of"),
        ('{"action_type": "speak"}', "argument is not a text"),
        ('{"action_type": "speak", "argument": "x", "to": ["Bo"]}', "private messages"),
        ('{"action_type": "speak", "argument": "x", "mood": 1}', "unknown field 'mood'"),
        (json.dumps({"action_type": "speak", "argument": "x" * 20_000}), "20,000 characters"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_reply_that_is_no_action_is_told_why(reply: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        from_json(reply)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Good day!", say("Good day!")),
        ("", NOTHING),
        ("[action] opens the door", Action(action_type="action", argument="opens the door")),
        (
            "[Non-verbal communication] smiles",
            Action(action_type="non-verbal communication", argument="smiles"),
        ),
        ("Left the conversation.", Action(action_type="leave")),
        ("He left the conversation", say("He left the conversation")),
        ("[OFFER 5]", say("[OFFER 5]")),
    ],
)
def test_plain_replies(reply: str, action: Action) -> None:
    assert from_text(reply) == action


def reply_of(first: dict[str, object], second: dict[str, object], keys: tuple[str, str]) -> str:
    return json.dumps({"evaluations": dict(zip(keys, (first, second), strict=True))})


def scored(value: object) -> dict[str, object]:
    return {one.name: ["why", 0 if one.low <= 0 <= one.high else value] for one in SOTOPIA} | {
        "goal": ["w", value]
    }


def test_scores_belong_to_keys_not_to_their_order() -> None:
    names = ("Ana Reed", "Bo Lind")
    judged = read_judgement(reply_of(scored(1), scored(9), ("agent_2", "agent_1")), names, SOTOPIA)
    assert [one["goal"] for one in judged.scores] == [9, 1]
    by_name = read_judgement(reply_of(scored(1), scored(9), names), names, SOTOPIA)
    assert [one["goal"] for one in by_name.scores] == [1, 9]


def test_equal_names_do_not_say_whose_scores_they_are() -> None:
    with pytest.raises(JudgementError, match="not of agent_1 and agent_2"):
        read_judgement(json.dumps({"evaluations": {"Al Fox": scored(3)}}), ("Al Fox", "Al Fox"), SOTOPIA)


@pytest.mark.parametrize("score", [True, 11, -1, 1.5, "9.5", "१", None, [3], 10**30])
def test_what_is_no_score_in_range_is_no_judgement(score: object) -> None:
    reply = reply_of(scored(score), scored(9), ("agent_1", "agent_2"))
    with pytest.raises(JudgementError, match="goal"):
        read_judgement(reply, ("Ana Reed", "Bo Lind"), SOTOPIA)


def test_a_comma_within_a_reason_stays() -> None:
    reply = '{"evaluations": {"agent_1": %s, "agent_2": %s,},}'
    first = {**scored(4), "goal": ["he said: [a,] and {b, }", 4]}
    judged = read_judgement(reply % (json.dumps(first), json.dumps(scored(5))), ("A B", "C D"), SOTOPIA)
    assert judged.reasons[0]["goal"] == "he said: [a,] and {b, }"


def test_overall_is_the_mean_of_raw_scores() -> None:
    judged = read_judgement(reply_of(scored(7), scored(0), ("agent_1", "agent_2")), ("A B", "C D"), SOTOPIA)
    assert judged.overall == (1.0, 0.0)
    assert SOTOPIA[1].normalised(0) == 0.5


def test_an_unjudged_record_has_no_reward() -> None:
    talk = conversation(Rules(max_turns=1))
    talk.apply({0: say("hi")})
    record = episode_log(talk, None, pk="x", environment="e", agents=("a", "b"), models=("j", "m", "n"))
    assert record["rewards"] is None
    assert record["status"] == "unjudged"


def test_half_a_character_is_replaced_in_actions_and_reasons() -> None:
    half = '{"action_type": "speak", "argument": "Oh \\ud83e! \\u00fc"}'
    assert from_json(half).argument == "Oh ?! ü"
    assert from_text("Oh \ud83e!").argument == "Oh ?!"
    entry = {one.name: ["w\\ud83e", 0] for one in SOTOPIA}
    reply = json.dumps({"evaluations": {"agent_1": entry, "agent_2": entry}}).replace("\\\\u", "\\u")
    assert read_judgement(reply, ("A B", "C D"), SOTOPIA).reasons[0]["goal"] == "w?"


def test_news_are_what_the_other_seat_did() -> None:
    talk = Conversation(("A B", "C D"), ("", ""), Rules(stale_rule="own"))
    for turn, action in enumerate((say("one"), NOTHING, say("two"), say("three"))):
        talk.apply({turn % 2: action})
    assert talk.news(0, 0) == ["Turn #1: ", 'Turn #3: C D said: "three"']
    assert talk.news(1, 1) == ['Turn #2: A B said: "two"']
    both = Conversation(("A B", "C D"), ("", ""), Rules("simultaneous"), masks("simultaneous", 0))
    both.apply({0: say("one"), 1: say("two")})
    assert both.news(0, 0) == ['Turn #0: C D said: "two"']
    assert both.heard == ['A B said: "one";C D said: "two"']
