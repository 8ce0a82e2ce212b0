"""Dialects of the place command: the wordings of two ALFWorld versions, and their other differences.

`move` (alfworld 0.4 and later): `move mug 1 to desk 1`, `You arrive at desk 1. ...`
`put` (alfworld 0.3 and earlier): `put mug 1 in/on desk 1`, `You arrive at loc 7. ...`

Prompts and data of the two do not mix: in the wrong dialect every placing fails with `Nothing happens.`
"""

import re
from typing import Literal

Dialect = Literal["move", "put"]

_HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  {place}:  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""

HELP: dict[Dialect, str] = {
    "move": _HELP.format(place="move (object) to (receptacle)"),
    "put": _HELP.format(place="put (object) in/on (receptacle)"),
}

_MOVE = re.compile(r"move (.+) to (.+)")
_PUT = re.compile(r"put (.+) in/on (.+)")
_LOOSE = re.compile(r"(?:move (.+?) to|put (.+?) (?:in/on|into|onto|in|on)) (.+)")

_LONGEST = 300
"""Maximum length of a command; matching longer texts could be slow."""


def place_command(dialect: Dialect, thing: str, receptacle: str) -> str:
    """The command that puts the held `thing` into or onto `receptacle`."""
    return f"move {thing} to {receptacle}" if dialect == "move" else f"put {thing} in/on {receptacle}"


def place_text(dialect: Dialect, thing: str, receptacle: str) -> str:
    """The observation after `place_command`."""
    if dialect == "move":
        return f"You move the {thing} to the {receptacle}."
    return f"You put the {thing} in/on the {receptacle}."


def translate(command: str, dialect: Dialect) -> str:
    """`command`, exact in either dialect, translated to the given dialect."""
    found = _MOVE.fullmatch(command) or _PUT.fullmatch(command)
    return place_command(dialect, found[1], found[2]) if found else command


def translate_loosely(command: str, dialect: Dialect) -> str:
    """As `translate`, but `put X in Y` and `put X on Y` are accepted as well. Not for comparable results."""
    found = _LOOSE.fullmatch(command.strip()) if len(command) <= _LONGEST else None
    return place_command(dialect, found[1] or found[2], found[3]) if found else command
