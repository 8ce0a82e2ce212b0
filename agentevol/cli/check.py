"""`agentevol check`: checks of extensions against their contracts."""

from typing import Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json

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
def algorithm(
    name: Annotated[str, typer.Argument(help="A registered name, or module:attribute.")], json: AsJson = False
) -> None:
    """Check a learning algorithm: micro-batches, order, gradients, determinism, extremes, options; exit code
    1 if one fails.

    Example: agentevol check algorithm grpo
    """
    from agentevol.learn.algorithms.check import check_algorithm

    report = check_algorithm(name)
    if json:
        print_json({"passed": report.passed, **report.model_dump()})
    else:
        print(f"{name}: {'keeps' if report.passed else 'BREAKS'} the contract")
        print("\n".join(f"  {line}" for line in report.lines()))
    if not report.passed:
        raise typer.Exit(1)
