"""Tasks that a guess, a shortcut, or another task's solution would solve: how many there are, by template."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

import pytest

from agentgym_envs.assistant import Assistant, catalogue
from agentgym_envs.assistant.tasks.drafts import Draft, Setting
from agentgym_envs.assistant.tasks.single import todo_done
from agentgym_envs.assistant.tasks.templates import BY_NAME
from tests.support.redraws import words_without_effect

SAMPLE = 6
"""Tasks of each template."""
MOST_OF_ONE_ANSWER = 0.6
ALWAYS = {"policy_allow", "real_target", "within_tools", "two_goals", "injected", "flaky_tool", "distractors"}
"""Templates that a first hit solves: they name all that they are about, and test something else."""
SOMETIMES = {"mail_or_todo", "order_rule", "conflict_resolve"}
"""Templates with two branches, of which the first hit takes one."""
REFUSED = {"ghost_target", "twin_unknown", "slot_taken", "unsaid_unknown", "beyond_tools"}
"""Templates with one gold, the refusal: the same request that can be done is a template of its own."""
UNTAKEN = {"order_rule", "rain_move"}
"""Templates with a word of the other branch, or a city between few days."""


@pytest.fixture(scope="module")
def assistant() -> Assistant:
    return Assistant()


def drafts(assistant: Assistant, template: str, count: int) -> list[Draft]:
    """Drafts of a template's first tasks of the tests."""
    level = next(level for level in assistant.difficulties if template in catalogue.templates("test", level))
    places = [
        place for n in range(13 * count) if (place := catalogue.place("test", level, n)).template == template
    ]
    return [catalogue.made(place).gold.draft for place in places[:count]]


def guessable(found: Iterable[Draft]) -> bool:
    """True if an answer is a flag or a small number without evidence, or one answer is the most frequent."""
    asked = [draft for draft in found if draft.answer is not None]
    small = [draft for draft in asked if isinstance(draft.expected, int) and 0 <= int(draft.expected) <= 10]
    share = Counter(str(draft.expected) for draft in small).most_common(1)
    bare = any(not draft.evidence for draft in small)
    return bare or (bool(share) and share[0][1] > MOST_OF_ONE_ANSWER * len(asked))


@pytest.mark.parametrize("template", BY_NAME)
def test_no_answer_can_be_guessed(assistant: Assistant, template: str) -> None:
    assert not guessable(drafts(assistant, template, SAMPLE))


def test_a_flag_that_is_mostly_true_or_needs_no_evidence_is_noticed(assistant: Assistant) -> None:
    seen = drafts(assistant, "event_when", 4)
    flags = [replace(draft, answer="boolean", expected=n < 2) for n, draft in enumerate(seen)]
    assert not guessable(flags)
    assert guessable([replace(draft, evidence={}) for draft in flags])
    assert guessable([replace(draft, expected=True) for draft in flags])


def test_a_first_hit_solves_those_templates_alone_that_name_all_they_are_about(assistant: Assistant) -> None:
    wins = defaultdict[str, list[float]](list)
    for level in ("conditional", "refusal", "multi"):
        for task in assistant.tasks("test", level)[: 12 * SAMPLE]:
            actions = assistant.shortcuts(task)[f"first_hit_{level}"]
            assistant.reset(task, seed=0)
            wins[task.kind].append(sum(assistant.step(action).reward for action in actions))
    assert {kind for kind, won in wins.items() if all(won)} - SOMETIMES == ALWAYS
    assert {kind for kind, won in wins.items() if any(won)} <= ALWAYS | SOMETIMES


def test_a_word_that_decides_nothing_is_in_those_templates_alone() -> None:
    session = catalogue.opened(catalogue.FIRST_OFFICE["test"])
    idle = {
        name
        for name, template in BY_NAME.items()
        if any(words_without_effect(template, session, "test", f"{name}/{seed}") for seed in range(2))
    }
    assert REFUSED <= idle <= REFUSED | UNTAKEN


def test_a_word_without_effect_is_noticed() -> None:
    def polite(setting: Setting) -> Draft | None:
        draft, day = todo_done(setting), setting.random.choice(("Monday", "Tuesday", "Friday"))
        return draft and replace(draft, instruction=f"Good morning, it is {day}. {draft.instruction}")

    session = catalogue.opened(catalogue.FIRST_OFFICE["test"])
    assert words_without_effect(todo_done, session, "test", "0") == []
    assert words_without_effect(polite, session, "test", "0") == [1]
