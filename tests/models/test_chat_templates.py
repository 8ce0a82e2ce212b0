"""Conversations under the chat templates of families: exact, append-only, and told what they ask for."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trajectories import trajectory

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation, Message
from agentevol.learn.batches.packing import episode_sequences
from agentevol.models.chat_templates import variables
from agentevol.models.rendering import ChatRenderer
from agentgym_envs.core import Observation
from agentgym_store.records import Sample, Trajectory, Turn

EMPTY = "<think>\n\n</think>\n\n"
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {}}}

words = st.lists(st.sampled_from(["go", "to", "table", "1", "mug"]), min_size=1, max_size=4).map(" ".join)
observations = st.text(st.sampled_from("you see a mug 1,.\n\tÄ🙂"), max_size=30)
systems = st.none() | words


def renderer_of(family: Any) -> ChatRenderer:
    return ChatRenderer(family.tokenizer(), family.arguments)


def said(renderer: ChatRenderer, conversation: Conversation, token_ids: list[int]) -> Sample:
    """What a policy would record that samples these."""
    return Sample(
        text=renderer.text(token_ids),
        prompt_ids=tuple(renderer.conversation_ids(conversation)),
        token_ids=tuple(token_ids),
        logprobs=(-1.0,) * len(token_ids),
        policy_version=0,
    )


def own(renderer: ChatRenderer, messages: list[Message], arguments: dict[str, Any]) -> str:
    """What the template itself makes of a conversation."""
    chat = [{"role": message.role, "content": message.content} for message in messages]
    return renderer.tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, tokenize=False, date_string="26 Jul 2024", **arguments
    )


def opened(system: str | None, first: str) -> Conversation:
    begun = [] if system is None else [Message("system", system)]
    return Conversation("c", [*begun, Message("user", first)])


def play(renderer: ChatRenderer, conversation: Conversation, turns: list[tuple[str, str]]) -> list[int]:
    """Say and hear; the ids of the prompt after that."""
    for action, observation in turns:
        conversation.say(said(renderer, conversation, renderer.action_ids(action)))
        conversation.hear(Observation(text=observation))
    return renderer.conversation_ids(conversation)


def episode_of(samples: list[Sample]) -> Trajectory:
    turns = [Turn(action="?", observation="?", reward=0.0, sample=sample) for sample in samples]
    return trajectory(id="e", env="x", turns=tuple(turns))


exchanges = st.lists(st.tuples(words, observations), min_size=1, max_size=3)


@settings(max_examples=30)
@given(system=systems, first=observations, turns=exchanges)
def test_what_no_template_rewrites_is_what_the_template_writes(family: Any, system, first, turns):
    renderer, conversation = renderer_of(family), opened(system, first)
    ids = play(renderer, conversation, turns)
    text = renderer.tokenizer.decode(ids)
    if family.arguments:  # the template leaves out the empty reasoning that it had put before an answer
        assert text.count(EMPTY) == len(turns) + 1
        text = text.replace(EMPTY, "", len(turns))
        ids = renderer._encode(text)
    assert text == own(renderer, conversation.messages, family.arguments)
    assert ids == renderer.prompt(conversation.messages)


@settings(max_examples=30)
@given(data=st.data())
def test_every_prompt_extends_what_was_read_and_sampled_whatever_that_was(family: Any, data: st.DataObject):
    renderer, conversation = renderer_of(family), opened(data.draw(systems), data.draw(observations))
    vocabulary = len(renderer.tokenizer)
    sampled = st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=8)
    for _ in range(3):
        token_ids = data.draw(sampled) + ([renderer.end_id] if data.draw(st.booleans()) else [])
        conversation.say(said(renderer, conversation, token_ids))
        conversation.hear(Observation(text=data.draw(observations)))
    rows = episode_sequences(episode_of(conversation.samples), 1.0, kind="append_only")
    assert [row.drift_events for row in rows] == [0]
    learnt = [token for sample in conversation.samples for token in sample.token_ids]
    assert rows[0].token_ids[rows[0].mask].tolist() == learnt


THOUGHT = "<think>\nThe fridge first.\n</think>\n\nopen the fridge"


def test_reasoning_that_the_template_deletes_stays_in_the_prompt_and_is_learnt(families: Any):
    renderer = renderer_of(families["qwen3"])
    conversation = opened(None, "You are in the kitchen.")
    text = renderer.tokenizer.decode(play(renderer, conversation, [(THOUGHT, "It is open.")] * 2))
    assert text.count("The fridge first.") == 2
    assert own(renderer, conversation.messages, {}).count("The fridge first.") == 0
    (row,) = episode_sequences(episode_of(conversation.samples), 1.0, kind="append_only")
    assert renderer.tokenizer.decode(row.token_ids[row.mask].tolist()) == 2 * f"{THOUGHT}<|im_end|>"


def test_prompts_by_the_template_itself_would_be_a_row_for_every_turn(families: Any):
    renderer = renderer_of(families["qwen3"])
    conversation = opened(None, "You are in the kitchen.")
    samples: list[Sample] = []
    for _ in range(3):
        prompt = renderer.prompt(conversation.messages)
        sample = said(renderer, opened(None, "?"), renderer.action_ids(THOUGHT))
        samples.append(sample.model_copy(update={"prompt_ids": tuple(prompt)}))
        conversation.say(samples[-1])
        conversation.hear(Observation(text="It is open."))
    rows = episode_sequences(episode_of(samples), 1.0)
    assert [row.drift_events for row in rows] == [2, 2, 2]


def test_without_thinking_every_answer_follows_an_empty_thought(families: Any):
    renderer = renderer_of(families["qwen3, no thinking"])
    conversation = opened(None, "Hm?")
    text = renderer.tokenizer.decode(play(renderer, conversation, [("go", "ok"), ("to", "ok")]))
    assert text.count(f"<|im_start|>assistant\n{EMPTY}") == 3
    thinking = renderer_of(families["qwen3"])
    assert EMPTY not in thinking.tokenizer.decode(play(thinking, opened(None, "Hm?"), [("go", "ok")]))


def test_begin_of_text_comes_once_and_only_where_the_family_has_it(family: Any):
    renderer = renderer_of(family)
    ids = play(renderer, opened("Act.", "Hm?"), [("go", "ok"), ("to", "ok")])
    begins = renderer.tokenizer.bos_token_id
    assert [place for place, token in enumerate(ids) if token == begins] == ([0] if family.bos else [])


def test_encoding_as_a_text_by_itself_would_begin_twice(families: Any):
    renderer = renderer_of(families["llama3"])
    text = own(renderer, [Message("user", "Hm?")], {})
    assert renderer.tokenizer.encode(text).count(renderer.tokenizer.bos_token_id) == 2


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        (
            "qwen2.5",
            "<|im_start|>system\nYou are a test of the format of Qwen2.5.<|im_end|>\n<|im_start|>user\n",
        ),
        ("qwen3", "<|im_start|>user\n"),
        (
            "llama3",
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
            "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\n",
        ),
    ],
)
def test_a_default_system_message_opens_the_conversation_once(families: Any, name: str, opening: str):
    renderer = renderer_of(families[name])
    text = renderer.tokenizer.decode(play(renderer, opened(None, "Hm?"), [("go", "ok"), ("to", "ok")]))
    assert text.startswith(f"{opening}Hm?")
    assert len(re.findall(r"system\b(?:<\|end_header_id\|>)?\n", text)) == ("system" in opening)


def test_what_a_template_trims_of_an_observation_is_not_read_and_what_was_sampled_is_not_trimmed(
    families: Any,
):
    renderer = renderer_of(families["llama3"])
    conversation = opened(None, "Hm?")
    text = renderer.tokenizer.decode(play(renderer, conversation, [(" go \n", "\n ok \n")]))
    assert text.endswith(
        "<|start_header_id|>assistant<|end_header_id|>\n\n go \n<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nok<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


def test_the_day_in_a_prompt_is_that_of_the_configuration(families: Any):
    tokenizer = families["llama3"].tokenizer()
    told = ChatRenderer(tokenizer, {"date_string": "01 Jan 2026"}).prompt([Message("user", "Hm?")])
    assert "Today Date: 01 Jan 2026\n" in tokenizer.decode(told)
    by_itself = tokenizer.apply_chat_template([{"role": "user", "content": "Hm?"}], tokenize=False)
    assert "Today Date: 26 Jul 2024\n" not in by_itself  # it asks for the real day


def test_tools_are_told_once(families: Any):
    renderer = ChatRenderer(families["qwen2.5"].tokenizer(), {"tools": [WEATHER]})
    text = renderer.tokenizer.decode(play(renderer, opened("Act.", "Hm?"), [("go", "ok")]))
    assert text.startswith("<|im_start|>system\nAct.\n\n# Tools\n")
    assert text.count('"name": "weather"') == 1


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("qwen2.5", {"enable_thinking": False}, r"enable_thinking has no effect.*\(it reads: tools\)"),
        ("llama3", {"tools": [WEATHER]}, "tools has no effect"),
        ("qwen3", {"enable_thinking": False, "enable_thinkin": True}, r"\.enable_thinkin has no effect"),
        ("qwen3", {"messages": []}, "messages has no effect"),
        ("qwen3", {"add_generation_prompt": False}, "add_generation_prompt has no effect"),
        ("llama3", {"strftime_now": "x"}, "strftime_now has no effect"),
    ],
)
def test_what_the_template_does_not_read_is_refused(families: Any, name: str, arguments: Any, reason: str):
    with pytest.raises(ConfigError, match=reason):
        ChatRenderer(families[name].tokenizer(), arguments)


def test_variables_are_those_that_a_template_does_not_set_itself():
    template = (
        "{% set a = 1 %}{% if b is not defined %}{% set b = c %}{% endif %}{% generation %}{{ a ~ b }}"
        "{% endgeneration %}{% for m in messages %}{% if m.x %}{% break %}{% endif %}{% endfor %}"
    )
    assert variables(template) == {"b", "c", "messages"}
    with pytest.raises(ConfigError, match="not valid jinja"):
        variables("{% if %}")
