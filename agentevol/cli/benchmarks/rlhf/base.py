"""The policy that all arms clone: a small model of generated problems, built once on a machine."""

from agentevol.cli.benchmarks.built_bases import built, careless_player
from agentevol.cli.benchmarks.rlhf.arms import GENERATED
from agentevol.core.errors import ConfigError


def with_base(env: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Settings with a base, which is built where none is given. Raises `ConfigError` in other environments
    than the generated problems.
    """
    if any(one.partition("=")[0].strip() == "base" for one in given):
        return given
    if env != GENERATED:
        raise ConfigError(f"--env {env} has no base of its own: give --set base=FOLDER")
    return (*given, f"base={built('rlhf', careless_player())}")
