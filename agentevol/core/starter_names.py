"""Names of starters, as in `starter:NAME`: an environment's, another one for thinking modes, and that of one
policy for several environments.
"""

MODES = "-modes"
"""End of the name of a starter that writes in thinking modes, after that of its environment."""
MODE_STARTERS = ("social",)
"""Environments with a recipe for a starter in thinking modes, `starter:NAME-modes`."""
MANY = "many"
"""Name of the starter that plays several environments."""
PLAYED_BY = {"sotopia": "social"}
"""Environments that the starters of another one play, whose texts and moves they share."""


def starter_name(environment: str, action_format: str) -> str:
    """Name of the starter for an environment that writes in the action format, where there is one."""
    own = PLAYED_BY.get(environment, environment)
    in_modes = action_format == "modes" or action_format.startswith("modes-")
    return f"{own}{MODES}" if in_modes and own in MODE_STARTERS else own
