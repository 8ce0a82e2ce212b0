"""Actions that the environment listed for a turn, as far as they were recorded."""

from agentgym_store.records import STATE, TOOLS, Trajectory

MOST = 40
"""Actions that are offered."""


def admissible(episode: Trajectory, place: int) -> tuple[str, ...]:
    """The listed actions of the turn with this index; none where they were not recorded.

    A recorded state is the observation, then an action in each line, then the names of tools if there are
    any. An action that a page cannot show as it is cannot be chosen.
    """
    if any(TOOLS in turn.info for turn in episode.turns[: place + 1]):
        return ()
    seen = episode.turns[place - 1].observation if place else episode.initial_observation
    state = episode.turns[place].info.get(STATE)
    if not isinstance(state, str) or not state.startswith(f"{seen}\n"):
        return ()
    lines = state[len(seen) + 1 :].split("\n")
    return tuple(line for line in lines if line and line.isprintable())[:MOST]
