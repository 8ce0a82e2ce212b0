"""Prompts, extensions and end tokens under three families of chat templates."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trajectories import trajectory
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation, Message
from agentevol.learn.batches.packing import episode_sequences
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_envs.core import Observation
from agentgym_store.records import Sample, Trajectory, Turn

STARTER = (
    "{% for message in messages %}{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% else %}<|agent|>{% endif %}{% endfor %}"
)
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
    "{{ message.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
CORPUS = [
    "You are in the kitchen.\n\nOn the table, you see a mug 1 and a plate 12.",
    "go to table 1 user assistant",
]


def byte_level(template: str, special: list[str], **names: str) -> PreTrainedTokenizerFast:
    """A small byte-level BPE tokenizer, as those of Qwen and Llama are large ones."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator(CORPUS, trainer)
    core.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return PreTrainedTokenizerFast(tokenizer_object=core, chat_template=template, **names)


def word_level(template: str = STARTER) -> PreTrainedTokenizerFast:
    """The starter policy's kind: every word a token."""
    names = ["<unk>", "go", "to", "table", "1", "you", "see", "a", "mug"]
    core = Tokenizer(models.WordLevel({name: index for index, name in enumerate(names)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<|agent|>", special=True)])
    return PreTrainedTokenizerFast(
        tokenizer_object=core, chat_template=template, unk_token="<unk>", eos_token="<|end|>"
    )


CHATML_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA3_TOKENS = [
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|end_of_text|>",
]
TOKENIZERS = {
    "starter": word_level(),
    "chatml": byte_level(CHATML, CHATML_TOKENS, eos_token="<|im_end|>"),
    "llama3": byte_level(LLAMA3, LLAMA3_TOKENS, bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>"),
}
ENDS = {"starter": "<|end|>", "chatml": "<|im_end|>", "llama3": "<|eot_id|>"}
families = pytest.mark.parametrize("family", list(TOKENIZERS))

actions = st.lists(st.sampled_from(["go", "to", "table", "1", "mug"]), min_size=1, max_size=4).map(" ".join)
observations = st.text(st.sampled_from("you see a mug 1,.\n\tÄ🙂"), max_size=30)


def spoken(prompt_ids: list[int], token_ids: list[int]) -> Sample:
    return Sample(
        text="?",
        prompt_ids=tuple(prompt_ids),
        token_ids=tuple(token_ids),
        logprobs=(-1.0,) * len(token_ids),
        policy_version=0,
    )


def episode_of(turns: list[Turn]) -> Trajectory:
    return trajectory(id="e", env="x", turns=tuple(turns))


@families
@settings(max_examples=40, deadline=None)
@given(first=observations, exchanges=st.lists(st.tuples(actions, observations), min_size=1, max_size=3))
def test_extending_turn_by_turn_gives_the_ids_of_the_whole_template(family, first, exchanges):
    renderer = ChatRenderer(TOKENIZERS[family])
    messages = [Message("user", first)]
    ids = renderer.prompt(messages)
    for action, observation in exchanges:
        messages += [Message("assistant", action), Message("user", observation)]
        ids += renderer.action_ids(action)
        ids += renderer.extend(ids, observation)
    assert ids == renderer.prompt(messages)


@families
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_sampled_ids_stay_as_they_are_even_where_their_text_would_encode_otherwise(family, data):
    renderer = ChatRenderer(TOKENIZERS[family])
    plain = [token for token in range(len(TOKENIZERS[family])) if token not in renderer.stop_ids]
    token_ids = data.draw(st.lists(st.sampled_from(plain), min_size=1, max_size=8))
    conversation = Conversation("c", [Message("user", "you see a mug 1")])
    prompt_ids = renderer.conversation_ids(conversation)
    conversation.say(spoken(prompt_ids, [*token_ids, renderer.end_id]))
    conversation.hear(Observation(text="a table"))
    ids = renderer.conversation_ids(conversation)
    before = [*prompt_ids, *token_ids, renderer.end_id]
    assert ids[: len(before)] == before
    assert ids[len(before) :] == renderer.extend(before, "a table")


def test_that_property_would_notice_encoding_anew():
    tokenizer = TOKENIZERS["chatml"]
    letters = [tokenizer.convert_tokens_to_ids(letter) for letter in "table"]
    assert tokenizer.encode(tokenizer.decode(letters), add_special_tokens=False) != letters


@families
def test_what_is_learnt_of_an_episode_reads_as_what_was_said_in_it(family):
    renderer = ChatRenderer(TOKENIZERS[family])
    said = ["go to table 1", "mug"]
    conversation, turns = Conversation("c", [Message("user", "you see a mug 1")]), []
    for action in said:
        prompt_ids = renderer.conversation_ids(conversation)
        sample = spoken(prompt_ids, renderer.action_ids(action))
        turns.append(Turn(action=action, observation="you see", reward=0.0, sample=sample))
        conversation.messages += [Message("assistant", action), Message("user", "you see")]
        conversation.samples.append(sample)
    for kind, counts in (("append_only", [2]), ("per_step", [1, 1])):
        rows = episode_sequences(episode_of(turns), 1.0, kind=kind)
        learnt = [renderer.tokenizer.decode(row.token_ids[row.mask].tolist()) for row in rows]
        assert [text.count(ENDS[family]) for text in learnt] == counts
        texts = [part.strip() for text in learnt for part in text.split(ENDS[family])]
        assert [text for text in texts if text] == said


@families
def test_an_action_without_end_token_is_ended_before_the_observation(family):
    renderer = ChatRenderer(TOKENIZERS[family])
    ended = renderer.prompt([Message("user", "you see")]) + renderer.action_ids("go to")
    cut = ended[:-1]
    assert cut + renderer.extend(cut, "a mug") == ended + renderer.extend(ended, "a mug")
    assert renderer.extend(cut, "a mug")[0] == renderer.end_id


@families
def test_an_action_ends_with_the_template_s_end_token(family):
    tokenizer = TOKENIZERS[family]
    renderer = ChatRenderer(tokenizer)
    end_id = tokenizer.convert_tokens_to_ids(ENDS[family])
    assert renderer.end_id == end_id
    assert renderer.action_ids("go to")[-1] == end_id
    assert renderer.text(renderer.action_ids("go to table 1")) == "go to table 1"
    assert renderer.text(renderer.action_ids("go to")[:-1]) == "go to"


def test_the_starter_s_prompt_is_the_words_and_the_agent_token():
    renderer = ChatRenderer(TOKENIZERS["starter"])
    go, to, you, see, end, agent = TOKENIZERS["starter"].convert_tokens_to_ids(
        ["go", "to", "you", "see", "<|end|>", "<|agent|>"]
    )
    assert renderer.prompt([Message("user", "you see")]) == [you, see, agent]
    assert renderer.action_ids("go to") == [go, to, end]
    assert renderer.extend([go, end], "see you") == [see, you, agent]
    assert renderer.extend([go], "see you") == [end, see, you, agent]


def test_llama_3_stops_at_the_end_of_turn_and_at_the_end_of_text():
    tokenizer = TOKENIZERS["llama3"]
    stops = tokenizer.convert_tokens_to_ids(["<|eot_id|>", "<|end_of_text|>"])
    assert ChatRenderer(tokenizer).stop_ids == set(stops)


def test_no_special_token_is_in_a_text_wherever_it_was_sampled():
    tokenizer = TOKENIZERS["llama3"]
    said = tokenizer.encode("go north", add_special_tokens=False)
    start, end_of_text, eot = tokenizer.convert_tokens_to_ids(
        ["<|start_header_id|>", "<|end_of_text|>", "<|eot_id|>"]
    )
    renderer = ChatRenderer(tokenizer)
    for sampled in ([*said, end_of_text], [*said, start, eot], [start, *said, end_of_text, eot]):
        assert renderer.text(sampled) == "go north"


def test_a_token_that_only_the_generation_config_ends_with_is_no_text():
    tokenizer = TOKENIZERS["starter"]
    go, table, end = tokenizer.convert_tokens_to_ids(["go", "table", "<|end|>"])
    renderer = ChatRenderer(tokenizer, ends=[table])
    assert renderer.stop_ids == {end, table}
    assert renderer.text([go, table]) == "go"
    assert renderer.text([go, table, end]) == "go table"  # a word elsewhere
    assert ChatRenderer(tokenizer).text([go, table]) == "go table"


def test_a_tokenizer_is_loaded_as_its_file_says_whatever_the_model(tmp_path):
    TOKENIZERS["starter"].save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    ids = TOKENIZERS["starter"].encode("go to table 1")
    assert ids == [1, 2, 3, 4]
    assert load_tokenizer(tmp_path).encode("go to table 1") == ids


@pytest.mark.parametrize("content", [None, "{", '{"model": 1}'])
def test_a_missing_or_garbled_tokenizer_is_a_configuration_error(content, tmp_path):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ConfigError, match="tokenizer"):
        load_tokenizer(tmp_path)


def test_a_tokenizer_without_a_template_is_a_configuration_error():
    tokenizer = word_level()
    tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="no chat template"):
        ChatRenderer(tokenizer)


def test_a_template_that_does_not_end_messages_is_a_configuration_error():
    template = "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}"
    with pytest.raises(ConfigError, match="special token"):
        ChatRenderer(word_level(template))


def test_only_after_an_observation_it_is_the_policy_s_turn():
    renderer = ChatRenderer(TOKENIZERS["starter"])
    conversation = Conversation("c", [Message("user", "you see")])
    conversation.say(spoken([5, 6], [1, renderer.end_id]))
    with pytest.raises(ValueError, match="not the policy's turn"):
        renderer.conversation_ids(conversation)
