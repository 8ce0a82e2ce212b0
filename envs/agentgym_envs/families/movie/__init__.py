"""Movie: films and the people who made them."""

from agentgym_envs.families.movie.environment import Movie

__all__ = ["Movie"]
