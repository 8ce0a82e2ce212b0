"""Rehearsal of a task with the scripted user: `rehearsed`.

A player who has the gold calls talks as the policy asks: it identifies the customer from what the customer
says, hears all wishes, has each change confirmed, tells the facts, and says when it is done. A task that even
this player does not win in a dialogue is not one for the scripted user.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agentgym_envs.core import Observation, StepResult
from agentgym_envs.tau.tasks import Action, TauTask
from agentgym_envs.tau.users.scripted import NOTHING_LEFT
from agentgym_envs.tooluse.calls import written

if TYPE_CHECKING:
    from agentgym_envs.tau.environment import TauEnvironment

MOST_WISHES = 20
"""Messages in which the player asks for further wishes."""
MOST_GOODBYES = 3
WHO_BY_MAIL = "Could you tell me your email address, or else your name and zip code?"
WHO_BY_ID = "Could you tell me your user id, and your reservation number?"
GO_ON = "Please go on: what else is there to do?"
CONFIRM = "I would make this change for you now. Do you confirm (yes/no)?"
HANDED_OVER = "You are being transferred to a human agent."
FINISHED = "Everything has been done. Is there anything else?"
IDS = ("order_id", "reservation_id", "user_id", "payment_method_id", "payment_id")
"""Arguments that name what belongs to a customer: they have to be told, or shown by a tool."""
ERROR = "Error"
"""Beginning of a result that is none."""
TRANSFER = "transfer_to_human_agents"

_MAIL = re.compile(r"My email is (\S+?)\.(?:\s|$)")
_NAME = re.compile(r"My name is (\S+) ([^.]+)\.")
_ZIP = re.compile(r"My zip code is (\d{5})\.")
_USER_ID = re.compile(r"My user id is (\w+)\.")


class Rehearsal(NamedTuple):
    """Actions of the player in one dialogue, and whether they earned the reward."""

    actions: tuple[str, ...]
    won: bool


def rehearsed(environment: "TauEnvironment[Any]", task: TauTask) -> Rehearsal:
    """Play a task. `environment` has the scripted user; its current episode is dropped."""
    player = _Player(environment, task)
    if player.identifies() and player.grants():
        player.ends()
    return Rehearsal(tuple(player.actions), player.won)


class _Player:
    """A dialogue, and what has been read in it."""

    def __init__(self, environment: "TauEnvironment[Any]", task: TauTask) -> None:
        self._environment = environment
        self._task = task
        self._tools = environment.tools_of(task.version)
        self.actions = list[str]()
        self.won, self._over = False, False
        self._read = cast("Observation", environment.reset(task, 0)).text

    def identifies(self) -> bool:
        """True if what the customer says about itself finds its record."""
        user_id = self._found_by_mail() if "find_user_id_by_email" in self._tools else self._told_id()
        return bool(user_id) and not self._call("get_user_details", user_id=user_id).startswith(ERROR)

    def grants(self) -> bool:
        """True if all gold calls could be made."""
        for _ in range(MOST_WISHES):
            if self._over or self._act(GO_ON) == NOTHING_LEFT:
                break
        return all(self._grant(action) for action in self._task.gold)

    def ends(self) -> None:
        """Tell the facts, and end the dialogue."""
        if self._task.communicate:
            self._act(", ".join(self._task.communicate))
        if any(action.name == TRANSFER for action in self._task.gold):
            self._act(HANDED_OVER)
        for _ in range(MOST_GOODBYES):
            self._act(FINISHED)

    def _found_by_mail(self) -> str:
        """The user id that a tool finds by address, or else by name and zip code; empty if none does."""
        said = self._act(WHO_BY_MAIL)
        mail, name, code = _MAIL.search(said), _NAME.search(said), _ZIP.search(said)
        found = ERROR
        if mail:
            found = self._call("find_user_id_by_email", email=mail.group(1))
        if found.startswith(ERROR) and name and code:
            first, last = name.groups()
            found = self._call(
                "find_user_id_by_name_zip", first_name=first, last_name=last, zip=code.group(1)
            )
        return "" if found.startswith(ERROR) else found

    def _told_id(self) -> str:
        found = _USER_ID.search(self._act(WHO_BY_ID))
        return found.group(1) if found else ""

    def _grant(self, action: Action) -> bool:
        """True if a gold call could be made: what it changes was read before, and the customer agreed."""
        call = written(action.name, **action.arguments)
        if self._tools[action.name].kind == "write":
            if not all(one in self._read for one in _ids_in(action.arguments)):
                return False
            self._act(CONFIRM)
        elif call in self.actions:  # it has read that already
            return True
        self._act(call)
        return True

    def _call(self, name: str, /, **arguments: Any) -> str:
        return self._act(written(name, **arguments))

    def _act(self, action: str) -> str:
        """The answer to a message or a call; empty after the end."""
        if self._over:
            return ""
        self.actions.append(action)
        result = cast("StepResult", self._environment.step(action))
        self._over = result.terminated or result.truncated
        self.won = result.reward >= 1
        self._read += f"\n{result.observation.text}"
        return result.observation.text


def _ids_in(value: Any) -> Iterator[str]:
    """Values of the arguments of `IDS`, at any depth."""
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _ids_in(one)
    if isinstance(value, Mapping):
        for name, one in cast("Mapping[str, Any]", value).items():
            if name in IDS:
                yield str(one)
            else:
                yield from _ids_in(one)
