"""`agentevol envs attack`: scripted attacks on environments of tools and on `social`, and their baselines."""

import json as json_module
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from agentgym_envs.core import Environment
    from agentgym_envs.tooluse.attacks import AttackReport


def attack(
    name: Annotated[str, typer.Argument(help="Environment of tool calls, or social.")],
    tasks: Annotated[
        int, typer.Option(min=1, help="Tasks of each split, evenly spaced; in social, of each family.")
    ] = 50,
    whole: Annotated[bool, typer.Option("--all", help="Play all tasks.")] = False,
    split: Annotated[list[str] | None, typer.Option(help="Split; all by default; repeatable.")] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="Write the table as JSON.")] = None,
    json: AsJson = False,
) -> None:
    """Play scripted attacks and baselines; exit code 1 if one earns what it may not or does harm.

    Example: agentevol envs attack assistant --split test
    """
    from agentgym_envs.registry import make

    environment = make(name)
    unknown = sorted(set(split or ()) - set(environment.splits))
    if unknown:
        raise typer.BadParameter(f"no split {unknown[0]!r}; there are: {', '.join(environment.splits)}")
    with counting(f"attacking {name}, tasks") as progress:
        report = _attacked(environment, None if whole else tasks, split or (), progress)
    if out is not None:
        out.write_text(json_module.dumps(report.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    if json:
        print_json({"passed": report.passed, **report.model_dump()})
    else:
        _print(report)
    if not report.passed:
        raise typer.Exit(1)


def _attacked(
    environment: "Environment[Any]",
    tasks: int | None,
    splits: Sequence[str],
    progress: Callable[[int], None],
) -> "AttackReport":
    """The report of the suite that fits the environment."""
    from agentgym_envs.social import Social
    from agentgym_envs.social.scripts.suite import attack as attack_social
    from agentgym_envs.tooluse import ToolEnvironment
    from agentgym_envs.tooluse.attacks import attack as attack_tools

    if isinstance(environment, Social):
        return attack_social(environment, tasks, splits=splits)
    if not isinstance(environment, ToolEnvironment):
        raise typer.BadParameter(f"the actions of {environment.name} are not tool calls")
    return attack_tools(environment, tasks, splits=splits, progress=progress)


LABELS = {"failed": "FAIL", "not played": ""}
"""Labels in the table of the statuses that it does not name as they are."""


def _print(report: "AttackReport") -> None:
    rows = [
        (
            result.name,
            str(result.episodes) if result.episodes else "none",
            f"{result.mean:.3f}" if result.episodes else "",
            f"{result.low:g} to {result.high:g}" if result.low != result.high else f"{result.low:g}",
            f"{result.standard_error:.3f}" if result.episodes and result.standard_error else "",
            LABELS.get(result.status, result.status),
        )
        for result in report.results
    ]
    print_table(("policy", "episodes", "return", "allowed", "standard error", ""), rows)
    played = (f"{split} {one.tasks:,} of {one.of:,}" for split, one in report.splits.items())
    print(f"tasks: {', '.join(played)}")
    if any(result.status == "within error" for result in report.results):
        print("within error: beyond what is allowed by at most three standard errors; more tasks tell")
    for result in report.results:
        for violation in result.violations:
            print(f"{result.name}: {violation}")
