"""Plan of the seats of a run's episodes, and of the league whose partners play them."""

from agentevol.config.sections.environment import SELF_PLAY, EnvironmentConfig
from agentevol.config.self_evolution.selfplay import SelfPlayConfig


def seat_plan(environment: EnvironmentConfig, selfplay: SelfPlayConfig) -> list[str]:
    """Plan of the seats of an episode."""
    seats, partner = environment.seats or 1, environment.partner
    if seats == 1:
        return []
    alone = f"seats: {seats} in every episode, the policy plays all of them (self-play)"
    beside = f"seats: {seats} in every episode, the policy plays one, {partner} the others"
    if not selfplay.on:
        return [alone if partner == SELF_PLAY else beside]
    scripts = (f"{name} ({weight:g})" for name, weight in selfplay.scripted.items())
    others = " or ".join([_kept(selfplay.kept), *scripts])
    return [
        f"league: {seats} seats in every explored episode, the latest policy plays all of them in a share of"
        f" {selfplay.latest:g} of the tasks, else one, beside {others}",
        f"evaluations: {(alone if partner == SELF_PLAY else beside).removeprefix('seats: ')}",
    ]


def _kept(count: int) -> str:
    """Checkpoints of a league in words."""
    earlier = "the checkpoint before it" if count == 1 else f"one of the {count} checkpoints before it"
    return f"{earlier}, by (1 - win rate)^2"
