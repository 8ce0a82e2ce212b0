"""Moves: only `[MOVE]` syntax counts, at most one an utterance, and only in words that are said."""

import pytest

from agentgym_envs.social.tasks import task
from agentgym_envs.sotopia.moves import Move, number, padded, spoken, utterance
from agentgym_envs.sotopia.protocol.actions import Action


def said(task_id: str, words: str, kind: str = "speak") -> Move | None:
    found = task(task_id, [task_id.split("/")[1]])
    action = Action(kind, words)
    return utterance(action, lambda name, argument: found.family.read(found.setting, name, argument)).move


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72.50", 72.5),
        ("$1,234.5", 1234.5),
        ("$ 7", 7.0),
        ("999999999", 999999999.0),
        ("0", None),
        ("0.00", None),
        ("-5", None),
        ("1e3", None),
        ("72.505", None),
        ("1,23", None),
        ("12,34,567", None),
        ("inf", None),
        ("٧٢", None),  # digits, but not ours
        ("", None),
    ],
)
def test_a_number_has_an_optional_dollar_commas_and_two_decimals(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("words", "move"),
    [
        ("I could do $72.50. [OFFER 72.50]", Move("OFFER", 72.5)),
        ("[OFFER 60] or rather [OFFER 70]", Move("OFFER", 70.0)),
        ("[OFFER 60] and [OFFER seventy]", Move("OFFER", 60.0)),  # the last well-formed one
        ("[OFFER 60] then [ACCEPT]", Move("ACCEPT", True)),
        ("[offer 60]", None),
        ("[OFFER]", None),
        ("[OFFER 60", None),
        ("OFFER 60", None),
        ("[ACCEPT now]", None),
        ("[SELL 60]", None),
        ("[[OFFER 60]]", Move("OFFER", 60.0)),
        ("I accept your offer of 60.", None),
    ],
)
def test_the_last_well_formed_move_of_an_utterance_counts(words: str, move: Move | None) -> None:
    assert said("train/price/1/0", words) == move


@pytest.mark.parametrize("kind", ["none", "non-verbal communication", "action", "leave"])
def test_only_words_have_moves(kind: str) -> None:
    assert said("train/price/1/0", "[ACCEPT]", kind) is None
    assert said("train/price/1/0", "[ACCEPT]") == Move("ACCEPT", True)


def test_a_share_is_of_the_pool() -> None:
    found = task("train/split/1/0", ["split"])
    first, second, _ = found.setting.items  # type: ignore[union-attr] - a setting of this family
    own = found.setting.pool[0]  # type: ignore[union-attr]
    offer = said(found.id, f"[OFFER me: {first}={own}, {second}=0]")
    assert offer == Move("OFFER", (own, 0, 0))
    assert said(found.id, f"[OFFER me: {first}={own + 1}]") is None
    assert said(found.id, f"[OFFER me: {first}=0 {first}=1]") is None
    assert said(found.id, "[OFFER me: unicorn=1]") is None
    assert said(found.id, f"[OFFER {first}=1]") is None
    assert said(found.id, "[OFFER me:]") is None


@pytest.mark.parametrize(
    ("task_id", "words"),
    [
        ("train/schedule/1/0", "[PROPOSE Sat 9]"),
        ("train/schedule/1/0", "[PROPOSE Tue 10]"),
        ("train/persuade/1/0", "[CITE e16]"),
        ("train/secrets/1/0", "[TELL colour=red]"),
        ("train/friends/1/0", "[SELECT Nobody Known]"),
        ("train/friends/1/0", "[TELL shoe=9]"),
    ],
)
def test_what_a_family_does_not_know_is_small_talk(task_id: str, words: str) -> None:
    assert said(task_id, words) is None


def test_moves_of_meetings_and_friends() -> None:
    assert said("train/schedule/1/0", "[PROPOSE Tue 14]") == Move("PROPOSE", "Tue 14")
    assert said("train/schedule/1/0", "[NOSLOT]") == Move("NOSLOT", True)
    found = task("train/friends/1/0", ["friends"])
    first, second = found.setting.keys[:2]  # type: ignore[union-attr] - a setting of this family
    described = said(found.id, f"[TELL {first}=Chess {second}=Oslo]")
    assert described == Move("TELL", {first: "chess", second: "oslo"})
    assert said(found.id, f"[ASK {second}]") == Move("ASK", second)


def test_words_are_whole_and_in_any_case() -> None:
    text = padded("The THERAPY session, that's private.")
    assert spoken(("therapy session",), text)
    assert not spoken(("therapist", "session that is"), text)
    assert not spoken(("rap",), text)
