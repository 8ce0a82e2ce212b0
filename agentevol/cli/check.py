"""`agentevol check`: checks of extensions against their contracts."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json

if TYPE_CHECKING:
    from agentgym_envs.testing import Report

Name = Annotated[str, typer.Argument(help="A registered name, or module:attribute.")]

app = typer.Typer(no_args_is_help=True, help="Check extensions against their contracts.")


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="check")


@app.callback()
def check() -> None:
    """Check extensions against their contracts. For environments: agentevol envs check.

    Example: agentevol check algorithm grpo
    """


@app.command()
def algorithm(name: Name, json: AsJson = False) -> None:
    """Check a learning algorithm: micro-batches, order, gradients, determinism, extremes, options; exit code
    1 if one fails.

    Example: agentevol check algorithm grpo
    """
    from agentevol.learn.algorithms.check import check_algorithm

    _show(name, check_algorithm(name), json)


@app.command()
def engine(
    name: Annotated[str, typer.Argument(help="embedded, vllm, a registered name, or module:attribute.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="[engine.KEY=VALUE]...", help="Further settings of it.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="Weights that it serves: starter, a model folder or a run's folder.")
    ] = "starter",
    json: AsJson = False,
) -> None:
    """Check an inference engine: samples, probabilities, seeds, concurrency, turns, context, updates,
    closing; exit code 1 if one fails.

    Example: agentevol check engine embedded
    """
    from agentevol.config.run import load
    from agentevol.core.errors import ConfigError
    from agentevol.engines.check import CONTEXT, SLOTS, check_engine
    from agentevol.models.resolution import resolve
    from agentevol.rollout.engine_factory import start_engine

    given = overrides or []
    for override in given:
        if not override.startswith("engine."):
            raise ConfigError(f"{override.partition('=')[0]} has no effect in this check: see engine.*")
    own = [f"engine.name={name}", f"engine.slots={SLOTS}", f"engine.context={CONTEXT}"]
    settings = load(None, [*own, *given]).engine
    report = check_engine(name, lambda checkpoint: start_engine(settings, checkpoint), resolve(model))
    _show(name, report, json)


@app.command()
def reward(name: Name, json: AsJson = False) -> None:
    """Check a reward function: finite numbers, order, determinism, options; exit code 1 if one fails.

    Example: agentevol check reward discounted_return
    """
    from agentevol.data.rewards.check import check_reward

    _show(name, check_reward(name), json)


@app.command()
def judge(
    name: Name,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[reward.KEY=VALUE]...", help="Options of it, and reward.concurrency."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Check a judge: scores on its scale, reasons where it gives none, extreme texts, its version; equal
    scores in any order, unless it declares that it is stochastic. Exit code 1 if one fails.

    Example: agentevol check judge rubric reward.options.model=gpt-4.1-mini
    """
    from agentevol.config.rewards.reward import JudgeReward
    from agentevol.config.run import load
    from agentevol.core.errors import ConfigError
    from agentevol.data.judges.check import check_judge

    given = overrides or []
    for override in given:
        if not override.startswith(("reward.options.", "reward.concurrency=")):
            raise ConfigError(
                f"{override.partition('=')[0]} has no effect in this check: see reward.options.*"
            )
    settings = load(None, ["algorithm=grpo", f"reward.judge={name}", *given]).reward
    assert isinstance(settings, JudgeReward)  # chosen by its key
    _show(name, check_judge(name, settings.options, concurrency=settings.concurrency), json)


@app.command()
def shaping(name: Name, json: AsJson = False) -> None:
    """Check a potential for shaping: finite numbers, of the history alone, determinism; exit code 1 if one
    fails.

    Example: agentevol check shaping new_observations
    """
    from agentevol.data.rewards.check import check_potential

    _show(name, check_potential(name), json)


@app.command("turn-reward")
def turn_reward(name: Name, json: AsJson = False) -> None:
    """Check a reward of single turns: finite numbers, determinism, an effect; exit code 1 if one fails.

    Example: agentevol check turn-reward turn_cost
    """
    from agentevol.data.rewards.check import check_turn_reward

    _show(name, check_turn_reward(name), json)


@app.command("format")
def action_format(name: Name, json: AsJson = False) -> None:
    """Check an action format: instruction, round trip, hostile texts, purity, speed; exit code 1 if one
    fails.

    Example: agentevol check format react
    """
    from agentevol.core.action_formats.check import check_action_format

    _show(name, check_action_format(name), json)


def _show(name: str, report: "Report", json: bool) -> None:
    """Print the report of a check. Exit code 1 where a check failed."""
    if json:
        print_json({"passed": report.passed, **report.model_dump()})
    else:
        print(f"{name}: {'keeps' if report.passed else 'BREAKS'} the contract")
        print("\n".join(f"  {line}" for line in report.lines()))
    if not report.passed:
        raise typer.Exit(1)
