"""`agentevol data`: import of benchmark data."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Import real benchmark data, list and verify it.")

IMPORTERS: dict[str, str] = {
    "alfworld": "agentgym_envs.alfworld.importing",
    "ampo": "agentgym_envs.ampo.importing",
    "bfcl": "agentgym_envs.bfcl.importing",
    "questions": "agentgym_envs.questions.importing",
    "searchqa": "agentgym_envs.searchqa.importing",
    "sotopia": "agentgym_envs.sotopia.data.importing",
    "sql": "agentgym_envs.sql.imported.importing",
    "tau-airline": "agentgym_envs.tau.airline.importing",
    "tau-mock": "agentgym_envs.tau.mock.importing",
    "tau-retail": "agentgym_envs.tau.retail.importing",
    "tau-telecom": "agentgym_envs.tau.telecom.importing",
    "textcraft": "agentgym_envs.textcraft.importing",
    "webshop": "agentgym_envs.webshop.official.importing",
}
"""Environment to the module with the functions of `agentgym_envs.import_report`; it is imported only if data
exist.
"""

PARTS: dict[str, str] = {
    "alfworld": "game files",
    "ampo": "records",
    "bfcl": "tasks",
    "questions": "questions",
    "searchqa": "records",
    "sotopia": "records",
    "sql": "tasks",
    "tau-airline": "tasks",
    "tau-mock": "tasks",
    "tau-retail": "tasks",
    "tau-telecom": "tasks",
    "textcraft": "recipes",
    "webshop": "entries of files",
}
"""Environment to the name of the parts that an import accepts or refuses one by one."""

Importable = Literal[
    "alfworld",
    "ampo",
    "bfcl",
    "questions",
    "searchqa",
    "sotopia",
    "sql",
    "tau-airline",
    "tau-mock",
    "tau-retail",
    "tau-telecom",
    "textcraft",
    "webshop",
]
MANIFEST = "manifest.json"
SHOWN = 20
"""Maximum number of refused parts that an import prints."""


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="data")


@app.command("list")
def list_data(json: AsJson = False) -> None:
    """List the data sets that can be imported, and what has been.

    Example: agentevol data list --json
    """
    from agentgym_envs.home import data_home

    home = data_home()
    tasks = {name: _counts(home, name) for name in IMPORTERS}
    if json:
        print_json({"home": str(home), "data": tasks})
        return
    rows = [(name, _told(name, found), str(home / name)) for name, found in tasks.items()]
    print_table(("environment", "imported", "folder"), rows)


@app.command("import")
def import_data(
    env: Annotated[Importable, typer.Argument(help="Environment of the data.")],
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder in its publisher's layout; with several catalogues, a file of products."
        ),
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 if a part was refused.")
    ] = False,
) -> None:
    """Check the data of a benchmark and copy it to AGENTEVOL_HOME, all or nothing.

    Parts that are not sound (games of ALFWorld, records of AMPO, tasks of BFCL, SQL and tau, recipes of
    TextCraft, entries of WebShop's files) are refused, named and counted; the others are imported, with
    `--strict` too. Sotopia's profiles are imported all or none.

    Example: agentevol data import webshop ~/WebShop/data
    """
    from agentgym_envs.home import data_home

    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    home = data_home()
    with counting(f"importing {env}") as progress:
        report = import_module(IMPORTERS[env]).import_official(path, home, progress)
    for refused in report.refused[:SHOWN]:
        print(f"refused {refused.name}: {refused.reason}")
    if len(report.refused) > SHOWN:
        print(f"... and {len(report.refused) - SHOWN:,} more")
    for warning in report.warnings:
        print(f"warning: {warning}")
    for note in report.notes:
        print(f"note: {note}")
    print_table(("split", "tasks"), sorted(report.counts.items()))
    print(f"imported into {home / env}; {len(report.refused):,} of the {PARTS[env]} refused")
    if strict and report.refused:
        raise typer.Exit(1)


@app.command()
def verify(json: AsJson = False) -> None:
    """Compare imported data with the hashes of its manifest; exit code 1 when something differs.

    Example: agentevol data verify
    """
    found = problems()
    if json:
        print_json(found)
    else:
        for name, lines in found.items():
            print(f"{name}: {'ok' if not lines else 'DAMAGED'}")
            print("".join(f"  {line}\n" for line in lines), end="")
        if not found:
            print("nothing has been imported; see agentevol data list")
    if any(found.values()):
        raise typer.Exit(1)


def problems() -> dict[str, list[str]]:
    """Imported environment to the errors of its data; empty lists for intact data."""
    from agentgym_envs.home import data_home

    home = data_home()
    imported = [name for name in IMPORTERS if _is_imported(home, name)]
    return {name: list(map(str, import_module(IMPORTERS[name]).verify(home))) for name in imported}


def _counts(home: Path, name: str) -> dict[str, int] | None:
    """Tasks per split of an imported data set; None if nothing was imported."""
    return import_module(IMPORTERS[name]).counts(home) if _is_imported(home, name) else None


def _is_imported(home: Path, name: str) -> bool:
    return (home / name / MANIFEST).is_file()


def _told(name: str, found: dict[str, int] | None) -> str:
    if found is None:
        return f"no; agentevol data import {name} DIR"
    return ", ".join(f"{split} {number:,}" for split, number in found.items())
