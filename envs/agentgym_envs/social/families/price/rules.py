"""Settings, moves and scores of a sale."""

import math
from collections.abc import Sequence
from random import Random
from typing import Any, Literal

from agentgym_envs.social.content.goods import GOODS
from agentgym_envs.social.content.scenes import PRICE
from agentgym_envs.social.families.price.partner import PricePartner
from agentgym_envs.social.families.price.player import PricePlayer
from agentgym_envs.social.families.price.side import Side
from agentgym_envs.social.families.price.thinker import PriceThinker
from agentgym_envs.social.families.standing import Offers
from agentgym_envs.social.family import TURNS, Family, Ledger, Setting, Speaker
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.partners.temperament import Temperament, drawn_temperament
from agentgym_envs.sotopia.moves import number
from agentgym_envs.sotopia.protocol.conversation import EndReason

ZONES = {"1": (0.52, 0.7), "2": (0.33, 0.52), "3": (0.15, 0.33)}
"""By difficulty: the buyer's limit above the seller's, as a share of it."""
WITHOUT_ZONE = 0.2
"""Share of tasks in which no price suits both."""
LEAST_OFFERS = 3
"""Different offers that earn `CONSOLATION` without a zone, where no deal was made."""
CONSOLATION = 4.0


class PriceSetting(Setting):
    """A sale. Amounts in dollars; seats in order."""

    kind: Literal["price"] = "price"
    item: str
    listed: float
    seller: int
    """Seat that sells."""
    limits: tuple[float, float]
    targets: tuple[float, float]

    @property
    def has_zone(self) -> bool:
        """Whether a price exists that neither limit forbids."""
        return self.limits[1 - self.seller] >= self.limits[self.seller]

    def side(self, seat: int) -> Side:
        """Knowledge of a seat."""
        return Side(seat == self.seller, self.limits[seat], self.targets[seat], self.listed)


class PriceLedger(Offers, Ledger):
    """Offers of a sale."""

    def __init__(self, setting: PriceSetting) -> None:
        super().__init__("OFFER")
        self._setting = setting

    def outcome(self, seat: int, ends: Sequence[EndReason]) -> Outcome:
        """Score by the distance of the price from the limit, 1 at the target; see `goal_of`."""
        facts = {"deal": self.author >= 0, "zone": self._setting.has_zone, "price": self.agreed}
        if self.author < 0:
            bargained = len(set(self.made[seat])) >= LEAST_OFFERS
            consoled = bargained and not self._setting.has_zone
            return Outcome(goal=CONSOLATION if consoled else 0.0, financial=0.0, facts=facts)
        utility = self._setting.side(seat).utility(self.agreed)
        return Outcome(goal=goal_of(utility), financial=5 * min(1.0, max(-1.0, utility)), facts=facts)


def goal_of(utility: float) -> float:
    """Goal score of a deal: 2 at the limit, 8 at the target, 10 from halfway beyond it, 0 below the limit."""
    if utility < 0:
        return 0.0
    return 2 + 6 * utility if utility <= 1 else min(10.0, 8 + 4 * (utility - 1))


class Price(Family[PriceSetting, Temperament]):
    """Family `price`."""

    name = "price"

    def setting(self, draws: Random, split: str, level: str, seat: int) -> PriceSetting:
        """A sale; the agent sells or buys, whichever seat it has."""
        listed = math.exp(draws.uniform(math.log(15), math.log(3000)))
        least = listed * draws.uniform(0.4, 0.7)
        if draws.random() < WITHOUT_ZONE:
            most = least * (1 - draws.uniform(0.05, 0.2))
            span = 0.3 * least
        else:
            most = least * (1 + draws.uniform(*ZONES[level]))
            span = most - least
        wishes = least + span * draws.uniform(0.5, 0.9), most - span * draws.uniform(0.5, 0.9)
        seller = draws.randrange(2)
        digits = 2 if listed < 100 else 0
        limits, targets = (least, most), wishes
        if seller:
            limits, targets = (most, least), (wishes[1], wishes[0])
        return PriceSetting(
            item=draws.choice(GOODS[split]),
            listed=round(listed, digits),
            seller=seller,
            limits=(round(limits[0], digits), round(limits[1], digits)),
            targets=(round(targets[0], digits), round(targets[1], digits)),
        )

    def hidden(self, draws: Random, split: str, level: str) -> Temperament:
        """A temperament."""
        return drawn_temperament(draws, split, level)

    def scenario(self, setting: PriceSetting, split: str, wording: int) -> str:
        """The good and its list price."""
        wordings = PRICE[split]
        return wordings[wording % len(wordings)].format(item=setting.item, listed=_money(setting.listed))

    def goal(self, setting: PriceSetting, seat: int) -> str:
        """Role, target, limit and rules."""
        sells = seat == setting.seller
        verb, better = ("sell", "high") if sells else ("buy", "low")
        worse = "below" if sells else "above"
        return (
            f"You {verb} the {setting.item}; get a price as {better} as you can. "
            f"Your target is {_money(setting.targets[seat])}; a price {worse} {_money(setting.limits[seat])} "
            "is worse than no deal. [OFFER 72.50] offers a price, [ACCEPT] takes the other's latest offer "
            "and ends the talk, [REJECT] declines. At most one move in a message counts, in this form alone. "
            f"You have {TURNS} messages. Who does not come nearer is left in the end. A deal may be "
            f"impossible: then make at least {LEAST_OFFERS} different offers. "
            "Example: I could do a little better. [OFFER 72.50]"
        )

    def read(self, setting: PriceSetting, name: str, argument: str) -> Any:
        """OFFER has a price; ACCEPT and REJECT have nothing."""
        if name == "OFFER":
            return number(argument)
        return True if name in ("ACCEPT", "REJECT") and not argument else None

    def ledger(self, setting: PriceSetting, hidden: Temperament) -> PriceLedger:
        """An empty ledger."""
        return PriceLedger(setting)

    def partner(
        self,
        setting: PriceSetting,
        seat: int,
        hidden: Temperament,
        ledger: Ledger,
        draws: Random,
        split: str,
    ) -> Speaker:
        """The other side of the sale."""
        if not isinstance(ledger, PriceLedger):
            raise TypeError(f"not a ledger of a sale: {type(ledger).__name__}")
        return PricePartner(setting.side(seat), ledger.made[1 - seat], hidden, draws, split)

    def player(self, setting: PriceSetting, seat: int, draws: Random) -> Speaker:
        """A player that comes nearer by as little as counts."""
        return PricePlayer(setting.side(seat), draws)

    def thinker(self, setting: PriceSetting, seat: int) -> PriceThinker:
        """A player that notes the gap and its parts."""
        return PriceThinker(setting.side(seat))

    def random_move(self, setting: PriceSetting, seat: int, draws: Random) -> str:
        """An offer of up to twice the list price, or half as often ACCEPT."""
        if draws.random() < 1 / 3:
            return "[ACCEPT]"
        return f"[OFFER {setting.listed * draws.uniform(0.01, 2):.2f}]"


def _money(amount: float) -> str:
    return f"${amount:,.0f}" if amount == int(amount) else f"${amount:,.2f}"
