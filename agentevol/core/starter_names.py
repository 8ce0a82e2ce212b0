"""Names of starters, as in `starter:NAME`: an environment's, and another one for thinking modes."""

MODES = "-modes"
"""End of the name of a starter that writes in thinking modes, after that of its environment."""
MODE_STARTERS = ("social",)
"""Environments with a recipe for a starter in thinking modes, `starter:NAME-modes`."""


def starter_name(environment: str, action_format: str) -> str:
    """Name of the environment's starter that writes in the action format, where there is one."""
    in_modes = action_format == "modes" or action_format.startswith("modes-")
    return f"{environment}{MODES}" if in_modes and environment in MODE_STARTERS else environment
