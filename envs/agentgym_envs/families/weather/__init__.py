"""Weather: places, their past and their forecasts."""

from agentgym_envs.families.weather.environment import Weather

__all__ = ["Weather"]
