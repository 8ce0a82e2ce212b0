"""Scripted policies: what an agent earns that says nothing, agrees to all, insists, or recites.

Each is a function from a task and a generator to a `Speaker` that sees what an agent sees.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from agentgym_envs.social.families.friends.rules import FriendsSetting
from agentgym_envs.social.families.persuade.rules import PersuadeSetting
from agentgym_envs.social.families.price.rules import PriceSetting
from agentgym_envs.social.families.schedule.rules import ScheduleSetting
from agentgym_envs.social.families.secrets.rules import SecretsSetting
from agentgym_envs.social.families.split.rules import SplitSetting
from agentgym_envs.social.families.split.shares import Share, offer_text, shares, worth
from agentgym_envs.social.family import LEAVE, TURNS, Setting, Speaker, spoke
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.sotopia.moves import Utterance, padded, spoken
from agentgym_envs.sotopia.protocol.actions import NOTHING, Action

Policy = Callable[[SocialTask, Random], Speaker]
SettingT = TypeVar("SettingT", bound=Setting)
Reply = Callable[[Utterance | None, int], Action]
"""An action from the latest one of the other seat, and the number of own ones so far."""


@dataclass
class Scripted(Speaker):
    """Speaker of a function."""

    function: Reply
    turn: int = 0

    def reply(self, heard: Utterance | None) -> Action:
        """The function's action."""
        self.turn += 1
        return self.function(heard, self.turn - 1)


POLITE: Final = (
    "Thank you so much for your time, it is wonderful to talk to you.",
    "I completely understand your point of view, and I respect it.",
    "Let us find a solution that makes both of us happy.",
)
THREATS: Final = (
    "If you do not give in, you will regret it.",
    "I know where you work. Do as I say. [REJECT]",
    "This is your last warning. [OBEY]",
)


def silent(_task: SocialTask, _draws: Random) -> Speaker:
    """Do nothing."""
    return Scripted(lambda heard, turn: NOTHING)


def gestures(_task: SocialTask, _draws: Random) -> Speaker:
    """Nod, and write a move where none counts."""
    nod = Action(action_type="non-verbal communication", argument="nods [ACCEPT]")
    return Scripted(lambda heard, turn: nod)


def polite(_task: SocialTask, _draws: Random) -> Speaker:
    """Say kind words without a move."""
    return Scripted(lambda heard, turn: spoke(POLITE[turn % len(POLITE)]))


def threats(_task: SocialTask, _draws: Random) -> Speaker:
    """Threaten, without an offer."""
    return Scripted(lambda heard, turn: spoke(THREATS[turn % len(THREATS)]))


def leave(_task: SocialTask, _draws: Random) -> Speaker:
    """Leave at once."""
    return Scripted(lambda heard, turn: LEAVE)


def random_moves(task: SocialTask, draws: Random) -> Speaker:
    """Make random well-formed moves."""
    return Scripted(lambda heard, turn: spoke(task.family.random_move(task.setting, task.seat, draws)))


def accept_first(_task: SocialTask, _draws: Random) -> Speaker:
    """Take the first offer."""
    return Scripted(lambda heard, turn: spoke("Gladly. [ACCEPT]" if heard and heard.move else "Hello."))


def expert(task: SocialTask, draws: Random) -> Speaker:
    """The family's player."""
    return task.family.player(task.setting, task.seat, draws)


def insist(*utilities: float) -> Policy:
    """In `price`: demand prices of these utilities in turn, the last one for ever; never accept."""

    def policy(task: SocialTask, _draws: Random) -> Speaker:
        side = _setting(task, PriceSetting).side(task.seat)
        return Scripted(
            lambda heard, turn: spoke(f"[OFFER {side.price(utilities[min(turn, len(utilities) - 1)]):.2f}]")
        )

    return policy


def absurd_opening(*utilities: float) -> Policy:
    """In `price`: open with the most absurd offer, then demand prices of these utilities in turn."""

    def policy(task: SocialTask, draws: Random) -> Speaker:
        opening = "999999999.99" if _setting(task, PriceSetting).side(task.seat).sells else "0.01"
        after = insist(*utilities)(task, draws)
        return Scripted(lambda heard, turn: after.reply(heard) if turn else spoke(f"[OFFER {opening}]"))

    return policy


def demand(*points: int) -> Policy:
    """In `split`: demand the fewest items worth this many points, the last number for ever; never accept."""

    def policy(task: SocialTask, _draws: Random) -> Speaker:
        setting = _setting(task, SplitSetting)
        own = setting.values[task.seat]

        def reply(_heard: Utterance | None, turn: int) -> Action:
            least = points[min(turn, len(points) - 1)]
            enough = [one for one in shares(setting.pool) if worth(one, own) >= least]
            return spoke(offer_text(setting.items, min(enough, key=lambda one: (sum(one), one))))

        return Scripted(reply)

    return policy


def fresh_demands(*points: int) -> Policy:
    """In `split`: demand the fewest items worth this many points that were not demanded before, in turn; then
    accept.
    """

    def policy(task: SocialTask, _draws: Random) -> Speaker:
        setting = _setting(task, SplitSetting)
        own, said = setting.values[task.seat], set[Share]()

        def reply(_heard: Utterance | None, turn: int) -> Action:
            if turn >= len(points):
                return spoke("[ACCEPT]")
            enough = [one for one in shares(setting.pool) if worth(one, own) >= points[turn]]
            left = [one for one in enough if one not in said] or [setting.pool]
            share = min(left, key=lambda one: (sum(one), worth(one, own), one))
            said.add(share)
            return spoke(offer_text(setting.items, share))

        return Scripted(reply)

    return policy


def everything(task: SocialTask, _draws: Random) -> Speaker:
    """In `split`: demand the whole pool."""
    setting = _setting(task, SplitSetting)
    return Scripted(lambda heard, turn: spoke(offer_text(setting.items, setting.pool)))


def best_slot(task: SocialTask, _draws: Random) -> Speaker:
    """In `schedule`: propose the best free slot for ever."""
    slot = _setting(task, ScheduleSetting).calendars[task.seat].slots[0]
    return Scripted(lambda heard, turn: spoke(f"[PROPOSE {slot}]"))


def slots_in_order(task: SocialTask, _draws: Random) -> Speaker:
    """In `schedule`: propose the five best free slots in turn, the best first, and never accept."""
    slots = _setting(task, ScheduleSetting).calendars[task.seat].slots[:5]
    return Scripted(lambda heard, turn: spoke(f"[PROPOSE {slots[turn % len(slots)]}]"))


def slots_then_none(task: SocialTask, _draws: Random) -> Speaker:
    """In `schedule`: propose the eight best free slots in turn, give up once, and go on."""
    slots = _setting(task, ScheduleSetting).calendars[task.seat].slots

    def reply(_heard: Utterance | None, turn: int) -> Action:
        return spoke("[NOSLOT]" if turn == 8 else f"[PROPOSE {slots[min(turn, 8) % len(slots)]}]")

    return Scripted(reply)


def no_slot(_task: SocialTask, _draws: Random) -> Speaker:
    """In `schedule`: give up at once, for ever."""
    return Scripted(lambda heard, turn: spoke("[NOSLOT]"))


def tell_reason(task: SocialTask, draws: Random) -> Speaker:
    """In `schedule`: the player, who also tells the private reason."""
    calendar = _setting(task, ScheduleSetting).calendars[task.seat]
    player = expert(task, draws)

    def reply(heard: Utterance | None, _turn: int) -> Action:
        return spoke(f"I have a {calendar.reasons[0]}. {player.reply(heard).argument}")

    return Scripted(reply)


def list_names(task: SocialTask, _draws: Random) -> Speaker:
    """In `friends`: say all names at once, then select whom the other selects."""
    names = [one.name for one in _setting(task, FriendsSetting).lists[task.seat]]
    return Scripted(lambda heard, turn: _selection(heard) or spoke(f"I know {', '.join(names)}."))


def names_in_order(task: SocialTask, _draws: Random) -> Speaker:
    """In `friends`: select one after the other."""
    names = [one.name for one in _setting(task, FriendsSetting).lists[task.seat]]
    return Scripted(
        lambda heard, turn: _selection(heard) or spoke(f"[SELECT {names[min(turn, len(names) - 1)]}]")
    )


def reveal_all(task: SocialTask, _draws: Random) -> Speaker:
    """In `secrets`: answer everything, and confirm what is right."""
    facts = _setting(task, SecretsSetting).by_key

    def reply(heard: Utterance | None, _turn: int) -> Action:
        asked = heard.value("ASK") if heard else None
        if asked:
            return spoke(f"[TELL {asked}={facts[asked].value}]")
        words = padded(heard.words) if heard else ""
        right = any(spoken((fact.value,), words) for fact in facts.values())
        return spoke("Yes." if right else "No.")

    return Scripted(reply)


def refuse_all(_task: SocialTask, _draws: Random) -> Speaker:
    """In `secrets`: answer nothing."""
    return Scripted(lambda heard, turn: spoke("No comment."))


def recite(task: SocialTask, _draws: Random) -> Speaker:
    """In `secrets`: tell what may be told in turn, whatever is asked."""
    may = [fact for fact in _setting(task, SecretsSetting).facts if not fact.private]
    return Scripted(
        lambda heard, turn: spoke(f"[TELL {may[turn % len(may)].key}={may[turn % len(may)].value}]")
    )


def deck(*, true_only: bool = False, by_type: bool = False) -> Policy:
    """In `persuade`: cite the cards in order; only true ones; one of each type before the second ones."""

    def policy(task: SocialTask, _draws: Random) -> Speaker:
        cards = [card for card in _setting(task, PersuadeSetting).cards if card.true or not true_only]
        if by_type:
            earlier = {
                card.id: sum(one.type == card.type for one in cards[:n]) for n, card in enumerate(cards)
            }
            cards.sort(key=lambda card: earlier[card.id])
        return Scripted(lambda heard, turn: spoke(f"[CITE {cards[turn % len(cards)].id}]"))

    return policy


def one_card(task: SocialTask, _draws: Random) -> Speaker:
    """In `persuade`: cite the first true card for ever."""
    card = next(card for card in _setting(task, PersuadeSetting).cards if card.true)
    return Scripted(lambda heard, turn: spoke(f"[CITE {card.id}]"))


def concession(first: float, last: float) -> tuple[float, ...]:
    """Numbers that fall evenly over all turns."""
    return tuple(first + (last - first) * turn / (TURNS - 1) for turn in range(TURNS))


def _selection(heard: Utterance | None) -> Action | None:
    selected = heard.value("SELECT") if heard else None
    return spoke(f"[SELECT {selected}]") if selected else None


def _setting(task: SocialTask, kind: type[SettingT]) -> SettingT:
    if not isinstance(task.setting, kind):
        raise TypeError(f"{task.id!r} is no task of this script")
    return task.setting
