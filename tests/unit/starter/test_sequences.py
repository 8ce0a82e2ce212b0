"""What of an episode is a sequence, and which of its tokens are learnt."""

from random import Random

import pytest

from agentevol.core.protocols import TrainingSequence
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.runs.starter.sequences import SequenceMaker, Turn

TURNS = [
    Turn("instruction: red rug, below 9 [sep] search", "search[ red rug]"),
    Turn("page 1: b012345678 $5", "<think> $5 of 9</think>click[b012345678]"),
    Turn("red rug", "click[features]"),
    Turn("wool, hand made, from a small workshop", "<think> wool no</think>search[ red rug]"),
    Turn("page 1: b012345678 $5", "<think> b012345678</think>click[next >]"),
]
WORDS = (*(text for turn in TURNS for text in turn), " tray mist")


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return ChatRenderer(word_tokenizer(WORDS, folded=True))


@pytest.fixture(scope="module")
def maker(renderer: ChatRenderer) -> SequenceMaker:
    return SequenceMaker(renderer)


def texts(renderer: ChatRenderer, sequence: TrainingSequence) -> tuple[str, str]:
    """All of a sequence, and what is learnt of it."""
    decode = renderer.tokenizer.decode
    return str(decode(list(sequence.token_ids))), str(decode(list(sequence.token_ids[sequence.mask])))


def test_marks_of_thinking_are_one_token_each(renderer: ChatRenderer):
    ids = renderer.tokenizer.encode("<think> wool no</think>click", add_special_tokens=False)
    assert renderer.tokenizer.convert_ids_to_tokens(ids) == ["<think>", "Ġwool", "Ġno", "</think>", "click"]


def test_of_a_whole_episode_all_that_was_said_is_learnt(renderer: ChatRenderer, maker: SequenceMaker):
    sequence = maker.whole("a", TURNS)
    everything, learnt = texts(renderer, sequence)
    assert everything == "".join(f"{heard}<|agent|>{said}<|end|>" for heard, said in TURNS)
    assert learnt == "".join(f"{said}<|end|>" for _, said in TURNS)
    assert (sequence.trajectory_id, sequence.weight) == ("a", 1.0)


def test_of_observations_the_given_tokens_are_learnt_from_their_second_occurrence(
    renderer: ChatRenderer, maker: SequenceMaker
):
    vocabulary = renderer.tokenizer.get_vocab()
    repeated = {vocabulary[word] for word in ("red", "Ġrug", "Ġwool")}
    sequence = maker.whole("a", TURNS, repeated)
    everything, learnt = texts(renderer, sequence)
    assert everything == "".join(f"{heard}<|agent|>{said}<|end|>" for heard, said in TURNS)
    said = [f"{turn.said}<|end|>" for turn in TURNS]
    # " red" is another token than "red", which begins the third observation for the first time
    assert learnt == "".join([*said[:2], " rug", *said[2:]])


def test_an_opening_says_other_words_again_as_they_stand(renderer: ChatRenderer, maker: SequenceMaker):
    made = list(maker.openings("a", TURNS, 30, Random(0)))
    wishes = set[str]()
    for sequence in made:
        everything, learnt = texts(renderer, sequence)
        wish = learnt.removeprefix("search[ ").removesuffix("]<|end|>")
        assert everything == f"instruction: {wish}, below 9 [sep] search<|agent|>search[ {wish}]<|end|>"
        wishes.add(wish)
    assert len(made) == 30
    assert len(wishes) > 15
    assert {"tray", "mist"} <= {word for wish in wishes for word in wish.split()}


BOUGHT = [*TURNS[:3], Turn("wool, hand made", "<think> wool.</think>click[< prev]"), *TURNS[2:3], TURNS[2]]


def test_of_a_studied_episode_thoughts_are_learnt_and_what_comes_after_the_last(
    renderer: ChatRenderer, maker: SequenceMaker
):
    everything, learnt = texts(renderer, maker.studied("a", BOUGHT))
    assert everything == texts(renderer, maker.whole("a", BOUGHT))[0]
    thoughts = " $5 of 9</think>click[b012345678]<|end|> wool.</think>click[< prev]<|end|>"
    assert learnt == thoughts + 2 * "click[features]<|end|>"


def test_an_episode_without_a_thought_has_nothing_to_study(renderer: ChatRenderer, maker: SequenceMaker):
    mute = [TURNS[0], TURNS[2]]
    assert texts(renderer, maker.studied("a", mute))[1] == ""
    assert not list(maker.ending("a", mute))


def test_an_ending_is_learnt_after_the_last_thought(renderer: ChatRenderer, maker: SequenceMaker):
    (sequence,) = maker.ending("a", BOUGHT)
    everything, learnt = texts(renderer, sequence)
    assert everything.startswith("wool, hand made<|agent|><think> wool.")
    assert learnt == 2 * "click[features]<|end|>"
    assert not list(maker.ending("a", BOUGHT[:-1]))


@pytest.mark.parametrize("said", ["search[ blue rug]", "click[red rug]x", "search[]"])
def test_a_first_turn_that_repeats_nothing_has_no_openings(maker: SequenceMaker, said: str):
    assert not list(maker.openings("a", [Turn(TURNS[0].heard, said)], 3, Random(0)))


def test_thoughts_are_learnt_without_their_first_mark_and_each_page_once(
    renderer: ChatRenderer, maker: SequenceMaker
):
    found = [texts(renderer, sequence) for sequence in maker.thoughts("a", TURNS)]
    assert found == [
        (f"{turn.heard}<|agent|>{turn.said}<|end|>", f"{turn.said.removeprefix('<think>')}<|end|>")
        for turn in (TURNS[1], TURNS[3])
    ]


def test_longer_thoughts_than_asked_for_are_left_out(maker: SequenceMaker):
    lengths = [len(sequence.token_ids) for sequence in maker.thoughts("a", TURNS)]
    assert [len(sequence.token_ids) for sequence in maker.thoughts("a", TURNS, min(lengths))] == [
        min(lengths)
    ]
    assert not list(maker.thoughts("a", TURNS, min(lengths) - 1))


SEARCHED = [
    Turn("a desk 1 and a shelf 1. find a mug", "go to desk 1"),
    Turn("the desk 1 is closed", "open desk 1"),
    Turn("in it, you see a pen 2", "go to shelf 1"),
    Turn("on it, you see a mug 3", "take mug 3"),
    Turn("taken", "go to desk 1"),
    Turn("on it, you see a pen 2", "take pen 2"),
]


def test_finds_are_the_first_thing_taken_and_one_that_was_left(renderer: ChatRenderer, maker: SequenceMaker):
    opening = f"{SEARCHED[0].heard}<|agent|>"
    taken, left = (texts(renderer, sequence) for sequence in maker.finds("a", SEARCHED, Random(0)))
    assert taken == (
        f"{opening}go to shelf 1<|end|>on it, you see a mug 3<|agent|>take mug 3<|end|>",
        "take mug 3<|end|>",
    )
    assert left == (
        f"{opening}open desk 1<|end|>in it, you see a pen 2<|agent|>go to shelf 1<|end|>",
        "go to shelf 1<|end|>",
    )


@pytest.mark.parametrize(
    ("turns", "count"), [(SEARCHED[:3], 0), (SEARCHED[3:4], 0), (SEARCHED[:1] + SEARCHED[3:], 1)]
)
def test_what_was_never_taken_or_never_left_is_no_find(maker: SequenceMaker, turns: list[Turn], count: int):
    assert len(list(maker.finds("a", turns, Random(0)))) == count
