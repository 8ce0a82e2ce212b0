"""Settings, moves and scores of a division."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, Literal
from zlib import crc32

from agentgym_envs.core import Record
from agentgym_envs.social.content.goods import ITEMS
from agentgym_envs.social.content.scenes import SPLIT
from agentgym_envs.social.families.split.partner import SplitPartner
from agentgym_envs.social.families.split.player import SplitPlayer
from agentgym_envs.social.families.split.shares import (
    Share,
    is_efficient,
    offer_text,
    shares,
    value_vectors,
    worth,
)
from agentgym_envs.social.families.split.thinker import SplitThinker
from agentgym_envs.social.families.standing import Offers
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.partners.temperament import Temperament, drawn_temperament
from agentgym_envs.sotopia.protocol.conversation import EndReason

TOTAL = 10
"""Points of the whole pool for each seat."""
KINDS = 3
JOINT = {"1": (16, 20), "2": (14, 15), "3": (11, 13)}
"""By difficulty: the most points that both seats together can have; 10 where they value all equally."""
FLOORS = {"1": (3, 4), "2": (3, 6), "3": (5, 6)}
"""By difficulty: the least points that a partner takes."""

_PAIR = re.compile(r"(\w+)=([0-9])")


class SplitSetting(Setting):
    """A pool, and the values of both seats."""

    kind: Literal["split"] = "split"
    items: tuple[str, ...]
    """Names of the kinds, in the singular."""
    pool: Share
    values: tuple[Share, Share]


class SplitHidden(Record):
    """Hidden parameters of a partner."""

    floor: int
    temperament: Temperament


class SplitLedger(Offers, Ledger):
    """Offers of a division: what their author keeps."""

    def __init__(self, setting: SplitSetting) -> None:
        super().__init__("OFFER")
        self._setting = setting

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """Own points of the accepted division, of 10."""
        if self.author < 0:
            return Outcome(goal=0.0, financial=0.0, facts={"deal": False})
        setting = self._setting
        kept = worth(self.agreed, setting.values[self.author])
        left = TOTAL - worth(self.agreed, setting.values[1 - self.author])
        points = kept if seat == self.author else left
        values = setting.values[self.author], setting.values[1 - self.author]
        pareto = is_efficient(self.agreed, setting.pool, *values)
        return Outcome(goal=points, financial=points / 2, facts={"deal": True, "pareto": pareto})


class Split(Family[SplitSetting, SplitHidden]):
    """Family `split`."""

    name = "split"

    def setting(self, draws: Random, split: str, level: str, seat: int) -> SplitSetting:
        """Five to seven items of three kinds, and two value vectors whose best joint sum fits the level."""
        low, high = JOINT[level]
        while True:
            pool = tuple(draws.randint(1, 4) for _ in range(KINDS))
            if not 5 <= sum(pool) <= 7:
                continue
            own, other = draws.choices(value_vectors(pool, TOTAL), k=2)
            joint = sum(count * max(both) for count, *both in zip(pool, own, other, strict=True))
            if own != other and low <= joint <= high and _split_of(pool, own, other) == split:
                items = tuple(draws.sample(ITEMS[split], KINDS))
                return SplitSetting(items=items, pool=pool, values=(own, other))

    def hidden(self, draws: Random, split: str, level: str) -> SplitHidden:
        """A floor and a temperament."""
        floor = draws.randint(*FLOORS[level])
        return SplitHidden(floor=floor, temperament=drawn_temperament(draws, split, level))

    def scenario(self, setting: SplitSetting, split: str, wording: int) -> str:
        """The pool."""
        wordings = SPLIT[split]
        items = ", ".join(_counted(*one) for one in zip(setting.pool, setting.items, strict=True))
        return wordings[wording % len(wordings)].format(items=items)

    def goal(self, setting: SplitSetting, seat: int) -> str:
        """Values and rules."""
        values = ", ".join(
            f"a {item} {value}" for item, value in zip(setting.items, setting.values[seat], strict=True)
        )
        example = "[OFFER me: " + " ".join(f"{item}=1" for item in setting.items) + "]"
        return (
            f"Get as many points as you can. Points to you: {values}; all items together {TOTAL}. "
            f"{example} proposes what you keep, the other gets the rest; kinds that you leave out count 0. "
            "[ACCEPT] takes the other's latest offer and ends the talk, [REJECT] declines. At most one move "
            f"in a message counts, in this form alone. You have {TURNS} messages. Example: I would like one "
            f"of each. {example}"
        )

    def read(self, setting: SplitSetting, name: str, argument: str) -> Any:
        """OFFER has what the speaker keeps; ACCEPT and REJECT have nothing."""
        if name == "OFFER":
            return _share(setting, argument)
        return True if name in ("ACCEPT", "REJECT") and not argument else None

    def ledger(self, setting: SplitSetting, hidden: SplitHidden) -> SplitLedger:
        """An empty ledger."""
        return SplitLedger(setting)

    def partner(
        self,
        setting: SplitSetting,
        seat: int,
        hidden: SplitHidden,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The other side of the division."""
        if not isinstance(ledger, SplitLedger):
            raise TypeError(f"not a ledger of a division: {type(ledger).__name__}")
        return SplitPartner(
            setting.items,
            setting.pool,
            setting.values[seat],
            hidden.floor,
            ledger.made[1 - seat],
            hidden.temperament,
            draws,
            split,
        )

    def player(self, setting: SplitSetting, seat: int, draws: Random) -> Speaker:
        """A player that concedes, and learns what the other side keeps."""
        return SplitPlayer(setting.items, setting.pool, setting.values[seat], draws)

    def thinker(self, setting: SplitSetting, seat: int) -> SplitThinker:
        """A player that counts points."""
        return SplitThinker(setting.items, setting.pool, setting.values[seat])

    def random_move(self, setting: SplitSetting, seat: int, draws: Random) -> str:
        """A random share, or ACCEPT."""
        if draws.random() < 0.5:
            return "[ACCEPT]"
        return offer_text(setting.items, draws.choice(shares(setting.pool)))


def _split_of(pool: Share, own: Share, other: Share) -> str:
    """The split that numbers belong to, whatever the items: valid and test have a twelfth each."""
    residue = crc32(repr((pool, *sorted((own, other)))).encode()) % 12
    return "valid" if residue == 10 else "test" if residue == 11 else "train"


def _share(setting: SplitSetting, argument: str) -> Share | None:
    head, colon, body = argument.partition(":")
    if not colon or head.strip() != "me" or not body.strip():
        return None
    found = dict.fromkeys(setting.items, 0)
    named = set[str]()
    for pair in body.replace(",", " ").split():
        matched = _PAIR.fullmatch(pair)
        if matched is None or matched[1] not in found or matched[1] in named:
            return None
        named.add(matched[1])
        found[matched[1]] = int(matched[2])
    share = tuple(found.values())
    return share if all(own <= all_ for own, all_ in zip(share, setting.pool, strict=True)) else None


def _counted(count: int, item: str) -> str:
    return f"{count} {item if count == 1 else item + 's'}"
