"""Families of tasks by name, and `AnySetting`, the union of their settings.

A folder a family: `rules` has its settings, moves and scores, `partner` and `player` its two speakers, and
`thinker` a player that says what it thinks.
"""

from typing import Annotated, Final

from pydantic import Field

from agentgym_envs.social.families.friends import Friends
from agentgym_envs.social.families.friends.rules import FriendsSetting
from agentgym_envs.social.families.persuade import Persuade
from agentgym_envs.social.families.persuade.rules import PersuadeSetting
from agentgym_envs.social.families.price import Price
from agentgym_envs.social.families.price.rules import PriceSetting
from agentgym_envs.social.families.schedule import Schedule
from agentgym_envs.social.families.schedule.rules import ScheduleSetting
from agentgym_envs.social.families.secrets import Secrets
from agentgym_envs.social.families.secrets.rules import SecretsSetting
from agentgym_envs.social.families.split import Split
from agentgym_envs.social.families.split.rules import SplitSetting
from agentgym_envs.social.family import AnyFamily

FAMILIES: Final[dict[str, AnyFamily]] = {
    family.name: family for family in (Price(), Split(), Friends(), Schedule(), Secrets(), Persuade())
}

AnySetting = Annotated[
    PriceSetting | SplitSetting | FriendsSetting | ScheduleSetting | SecretsSetting | PersuadeSetting,
    Field(discriminator="kind"),
]
