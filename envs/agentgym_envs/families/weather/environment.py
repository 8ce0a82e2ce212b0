"""The environment `weather`."""

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.tasks import Generator, counted
from agentgym_envs.families.weather.questions import FORMS
from agentgym_envs.families.weather.state import WeatherState, setting, state
from agentgym_envs.families.weather.tools import TOOLS


class Weather(FamilyEnvironment[WeatherState]):
    """Questions about days in cities, and about the cities."""

    name = "weather"
    toolset = TOOLS
    generator = Generator(
        name=name,
        tools=TOOLS,
        counts=counted(400, 100, 200, 343),
        forms=FORMS,
        # The source counts 341 of its 343 tasks; the other two are strings here.
        proportions={"number": 130, "string": 125, "integer": 49, "list": 39},
        draw_setting=setting,
        make_state=state,
    )
