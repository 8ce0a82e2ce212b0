"""The scripted policies of each family, and what each may earn."""

from dataclasses import dataclass
from typing import Final, Literal

from agentgym_envs.social.scripts import policies
from agentgym_envs.social.scripts.policies import Policy

Rule = Literal["zero", "constant", "blind", "open", "random", "first", "free", "expert"]
"""Rule for the returns that a policy may earn.

`zero`: exactly nothing in every episode. `constant`, one demand for ever: at most 60 % of the expert.
`blind`, a plan that ignores what is said: at most 85 %. `open`, such a plan that is known to earn more, as
the rules stand: no bound but the expert. `random` and `first`: in between nothing and the
expert, in this order. `free`: no bound but the expert. `expert`: the family's own player.
"""

FALLING: Final = tuple(3 - 2.8 * (turn / 9) ** 0.5 for turn in range(10))
"""Utilities that a blind seller or buyer demands in turn.

This plan, the falling points of `split` and the number of slots in `schedule` are the best of dozens that
were tried in training tasks, or near it.
"""


@dataclass(frozen=True)
class Entry:
    """A policy and its rule."""

    policy: Policy
    rule: Rule


IDLE: Final[dict[str, Entry]] = {
    "silent": Entry(policies.silent, "zero"),
    "gestures": Entry(policies.gestures, "zero"),
    "leave": Entry(policies.leave, "zero"),
    "polite": Entry(policies.polite, "zero"),
    "threats": Entry(policies.threats, "zero"),
}
RANDOM: Final[dict[str, Entry]] = {"random": Entry(policies.random_moves, "random")}
FIRST: Final[dict[str, Entry]] = {"accept_first": Entry(policies.accept_first, "first")}
EXPERT: Final[dict[str, Entry]] = {"expert": Entry(policies.expert, "expert")}

POLICIES: Final[dict[str, dict[str, Entry]]] = {
    "price": {
        **IDLE,
        **RANDOM,
        **FIRST,
        "target": Entry(policies.insist(1.0), "constant"),
        "seven_tenths": Entry(policies.insist(0.7), "constant"),
        "half": Entry(policies.insist(0.5), "constant"),
        "limit": Entry(policies.insist(0.01), "constant"),
        "falling": Entry(policies.insist(*FALLING), "blind"),
        "absurd_opening": Entry(policies.absurd_opening(3.0, *FALLING[:-1]), "blind"),
        **EXPERT,
    },
    "split": {
        **IDLE,
        **RANDOM,
        **FIRST,
        "everything": Entry(policies.everything, "zero"),
        "eight": Entry(policies.demand(8), "constant"),
        "six": Entry(policies.demand(6), "constant"),
        "five": Entry(policies.demand(5), "constant"),
        "falling": Entry(policies.demand(10, 9, 8, 7, 6, 6, 5, 4, 3, 2), "blind"),
        "fresh_demands": Entry(policies.fresh_demands(10, 9, 8, 8, 7, 6, 6, 5, 5), "open"),
        **EXPERT,
    },
    "friends": {
        **IDLE,
        **RANDOM,
        "list_names": Entry(policies.list_names, "constant"),
        "names_in_order": Entry(policies.names_in_order, "blind"),
        **EXPERT,
    },
    "schedule": {
        **IDLE,
        **RANDOM,
        **FIRST,
        "best_slot": Entry(policies.best_slot, "constant"),
        "no_slot": Entry(policies.no_slot, "zero"),
        "tell_reason": Entry(policies.tell_reason, "zero"),
        "slots_in_order": Entry(policies.slots_in_order, "blind"),
        "slots_then_none": Entry(policies.slots_then_none, "open"),
        **EXPERT,
    },
    "secrets": {
        **IDLE,
        "random": Entry(policies.random_moves, "free"),
        "reveal_all": Entry(policies.reveal_all, "zero"),
        "refuse_all": Entry(policies.refuse_all, "zero"),
        "recite": Entry(policies.recite, "blind"),
        **EXPERT,
    },
    "persuade": {
        **IDLE,
        "random": Entry(policies.random_moves, "free"),
        "one_card": Entry(policies.one_card, "constant"),
        "deck_order": Entry(policies.deck(), "blind"),
        "true_cards": Entry(policies.deck(true_only=True), "blind"),
        "a_card_a_type": Entry(policies.deck(true_only=True, by_type=True), "blind"),
        **EXPERT,
    },
}
