"""Wordle: marks by hand, the word list and its splits, the tries, AgentGym's variant, the player."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hash_seeds import printed

from agentgym_envs.core import StepResult, TaskNotFound
from agentgym_envs.wordle import Wordle, WordleTask
from agentgym_envs.wordle.lexicon import (
    LENGTHS,
    SPLITS,
    Lexicon,
    allowed,
    answers,
    marks,
    simple_marks,
    small,
    split_of,
)

FIVE = st.sampled_from(answers(5))
WORDS = Lexicon(answers(5))


@pytest.fixture
def world() -> Wordle:
    return Wordle()


def hidden(world: Wordle, answer: str) -> WordleTask:
    return world.tasks("train")[0].model_copy(update={"answer": answer})


def told(result: StepResult) -> str:
    return result.observation.text


@pytest.mark.parametrize(
    ("guess", "answer", "standard", "simple"),
    [
        ("slate", "slate", "ggggg", "ggggg"),
        ("crane", "slate", "bbgbg", "bbgbg"),
        ("speed", "abide", "bbyby", "bbyyy"),  # one e is hidden: the second one typed has no copy left
        ("speed", "erase", "ybyyb", "ybyyb"),
        ("allay", "llama", "ygyyb", "ygyyb"),
        ("eerie", "where", "ybybg", "yyybg"),  # the green e takes one copy, the first e the other
        ("geese", "elegy", "yygbb", "yygby"),
    ],
)
def test_marks(guess: str, answer: str, standard: str, simple: str) -> None:
    assert marks(guess, answer) == standard
    assert simple_marks(guess, answer) == simple


@settings(deadline=None, max_examples=60)
@given(FIVE, FIVE)
def test_sets_of_words_hold_what_the_marks_allow(guess: str, answer: str) -> None:
    for rule, is_simple in ((marks, False), (simple_marks, True)):
        seen = rule(guess, answer)
        left = WORDS.consistent(WORDS.whole, guess, seen, simple=is_simple)
        assert WORDS.among(left) == [word for word in WORDS.words if rule(guess, word) == seen]


def test_the_word_lists_are_large_and_their_splits_disjoint(world: Wordle) -> None:
    assert len(answers(5)) >= 1500
    assert len(allowed(5)) >= 4000
    for length in LENGTHS:
        assert allowed(length) >= set(answers(length))
        assert all(word.isascii() and word.islower() and len(word) == length for word in allowed(length))
        own = Wordle(length=length)
        found = {split: {task.answer for task in own.tasks(split)} for split in own.splits}
        assert sum(map(len, found.values())) == len(set().union(*found.values())) == len(answers(length))
        shares = [len(found[split]) / len(answers(length)) for split in SPLITS]
        assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.03)
    assert {split_of(task.answer) for task in world.tasks("test")} == {"test"}


def test_the_small_list_is_told_and_its_answers_are_split() -> None:
    world = Wordle(vocabulary="small")
    words = small(5)
    assert len(words) == 200
    task = world.tasks("test")[0]
    assert task.instruction.endswith(f"The word is one of: {', '.join(words)}.")
    found = [{one.answer for one in world.tasks(split)} for split in world.splits]
    assert set.union(*found) == set(words)
    assert sum(map(len, found)) == 200
    world.reset(task, 0)
    other = next(word for word in answers(5) if word not in words)
    assert told(world.step(other)) == "invalid word"


def test_no_id_or_order_tells_the_word(world: Wordle) -> None:
    found = [task.answer for task in world.tasks("train")[:50]]
    assert found != sorted(found)
    task = world.task("train/5/7")
    assert task.answer not in f"{task.id} {task.instruction} {task.kind}"


@pytest.mark.parametrize("typed", ["s h i r e", "shire", "S H I R E", " Shire\n", "s  h ire"])
def test_a_word_may_be_typed_in_several_ways(world: Wordle, typed: str) -> None:
    assert world.reset(hidden(world, "shire"), 0).text == "Let's start Wordle!"
    result = world.step(typed)
    assert told(result) == "g g g g g\nYou solved it in 1 tries."
    assert (result.reward, result.terminated) == (1.0, True)


def test_six_tries_and_an_invalid_word_is_one_of_them(world: Wordle) -> None:
    world.reset(hidden(world, "shire"), 0)
    texts: list[str] = []
    for guess in ("crane", "xyzzy", "no", "", "s h i r t s", "slate"):
        result = world.step(guess)
        texts.append(told(result))
        assert result.reward == 0
    assert texts[0] == "b y b b g"
    assert texts[1:5] == ["invalid word"] * 4
    assert texts[5] == "g b b b g\nOut of tries. The word was shire."
    assert result.terminated
    assert world.step("shire").reward == 0


def test_a_free_invalid_word_costs_nothing_six_times() -> None:
    world = Wordle(invalid="free")
    world.reset(hidden(world, "shire"), 0)
    results = [world.step("xyzzy") for _ in range(12)]
    assert [one.terminated for one in results] == [False] * 11 + [True]
    assert world.max_turns == 12
    world.reset(hidden(world, "shire"), 0)
    for _ in range(6):
        world.step("xyzzy")
    assert [world.step("crane").terminated for _ in range(5)] == [False] * 5
    assert world.step("shire").reward == 1


def test_the_variant_of_agentgym_has_no_word_until_one_is_left() -> None:
    world = Wordle(variant="agentgym")
    assert world.splits == ("agentgym",)
    assert len(world.tasks("agentgym")) == 980
    task = world.task("agentgym/5/17")
    assert task.answer == ""
    words = world.reset(task, 0).actions
    assert words is not None
    assert len(words) == 40
    first = world.step(words[0])
    assert told(first).endswith("\n")
    assert first.info["variant"] == "agentgym"
    left = first.observation.actions
    assert left is not None
    assert 0 < len(left) < 40
    seen = told(first).replace(" ", "").strip()
    assert all(simple_marks(words[0], word) == seen for word in left)
    world.reset(task, 0)
    assert told(world.step(words[0])) == told(first)  # a function of task, seed and guesses
    world.reset(task, 0)
    refused = world.step("slate" if "slate" not in words else "crane")
    assert (told(refused), refused.info["invalid_action"]) == ("invalid word", True)
    assert world.expert(task) is None
    with pytest.raises(NotImplementedError):
        world.demonstrate(task, 0)


def test_guesses_of_the_words_that_are_left_win_in_the_variant_of_agentgym() -> None:
    world = Wordle(variant="agentgym")
    won = [False] * 40
    for game in range(40):
        observation = world.reset(world.tasks("agentgym")[game], 0)
        for _ in range(6):
            result = world.step((observation.actions or ("",))[0])
            observation = result.observation
            if result.terminated:
                break
        won[game] = result.reward == 1
    assert sum(won) > 30


def test_the_expert_wins_always_and_the_player_nearly_always(world: Wordle) -> None:
    tasks = world.tasks("valid")[:80]
    tries: list[int] = []
    for task in tasks:
        plan = world.expert(task)
        assert plan is not None
        world.reset(task, 0)
        assert [world.step(word) for word in plan][-1].reward == 1, task
        said = world.demonstrate(task, 3)
        if said[-1] == task.answer:
            tries.append(len(said))
        assert set(said) <= set(answers(5))
    assert len(tries) > 0.97 * len(tasks)
    assert sum(tries) / len(tries) < 4


def test_with_less_care_the_player_says_its_habitual_words(world: Wordle) -> None:
    tasks = world.tasks("valid")[:80]
    habitual = ["parse", "bigot", "chunk", "dimly", "affix", "jawed"]
    won = dict[float, int]()
    for care in (0.0, 0.5, 1.0):
        said = [world.demonstrate(task, 3, care) for task in tasks]
        won[care] = sum(words[-1] == task.answer for words, task in zip(said, tasks, strict=True))
        if not care:
            assert all(words == habitual[: len(words)] for words in said)
    assert won[0.0] < 4 < won[0.5] < won[1.0]


def test_unknown_tasks_and_options_are_told(world: Wordle) -> None:
    for name in ("train/5/99999", "train/4/0", "agentgym/5/0", "train/5/01", "x"):
        with pytest.raises(TaskNotFound, match="wordle has no task"):
            world.task(name)
    with pytest.raises(ValueError, match="no length 7"):
        Wordle(length=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="have no effect in the variant"):
        Wordle(variant="agentgym", vocabulary="small")


def test_episodes_are_equal_under_other_hash_seeds() -> None:
    program = (
        "from agentgym_envs.wordle import Wordle; import hashlib;"
        "w = Wordle(); a = Wordle(variant='agentgym');"
        "t = [t.answer for s in w.splits for t in w.tasks(s)]; d = w.demonstrate(w.tasks('test')[5], 1, 0.5);"
        "g = [a.reset(a.tasks('agentgym')[3], 2)] + [a.step(x) for x in ('mated', 'grade', 'guard')];"
        "print(hashlib.sha256(repr((t, d, g)).encode()).hexdigest())"
    )
    assert len(printed(program)) == 1
