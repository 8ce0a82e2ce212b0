"""Import of the benchmark's own files as a catalogue: `import_official`. `library` opens imported catalogues.

The file of products is read twice, once for prices and goals and once to store it: it is never in memory as a
whole. A catalogue becomes current when it is complete, so an interrupted import changes nothing.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from agentgym_envs.import_report import ImportReport
from agentgym_envs.webshop.catalogues.stored import About, CatalogueError, StoredCatalogue, write
from agentgym_envs.webshop.official import goals, rows, sources
from agentgym_envs.webshop.official.library import Entry, counts, folder_of, verify
from agentgym_envs.webshop.official.publishing import drafted, published
from agentgym_envs.webshop.official.sources import Files
from agentgym_envs.webshop.official.splits import official
from agentgym_envs.webshop.official.survey import Survey, surveyed
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.taggers import PATTERN
from agentgym_envs.webshop.wishes import Wish

__all__ = ["counts", "import_official", "verify"]

SMALL = 1000
"""Maximum number of products of a catalogue called `1k`; a larger one is `full`."""

MANY = 50_000
"""Number of products from which on several processes analyse their texts."""
MOST_PROCESSES = 8

_NOTE = (
    f"all {{goals:,}} goals: titles are compared by the nouns of {PATTERN}, not by spaCy's, so that a product"
    " other than the wanted one may earn another reward than in published scores; a purchase whose"
    " `taggers_agree` is false is not exact"
)

_SEEDED = f"Random({goals.ORDER_SEED})"

Progress = Callable[[int], None]


def import_official(source: Path, home: Path, progress: Progress | None = None) -> ImportReport:
    """Import the catalogue of a folder (or of a file of products, with those beside it) as `1k` or `full`,
    replacing the one of that name.

    Invalid products and instructions are refused. `progress` is called with the number of products so far, in
    each of two passes. Raises `CatalogueError` for an invalid catalogue, `OSError` if something cannot be
    read or written.
    """
    files = sources.find(source)
    before = _stamps(files)
    survey = surveyed(files, progress)
    name = "1k" if survey.products <= SMALL else "full"
    prices, told_of_prices = _prices(survey, files, "synthetic" if name == "1k" else "human")
    wishes = _wishes(survey, prices)
    kept, told_of_files = _provenance(files)
    settings = {"prices": told_of_prices, "bounds": _SEEDED, "order": _SEEDED, **kept}
    root = folder_of(home)
    with drafted(root) as draft:
        folder = draft / draft.name.replace("draft", name, 1)
        stored = write(
            folder,
            About(name=name, nouns=PATTERN, settings=settings),
            rows.products(files.products, survey.annotations),
            lambda product: prices.get(product.asin, product.prices[0]),
            wishes,
            progress=progress,
            processes=_processes(survey.products),
        )
        if _stamps(files) != before:
            raise CatalogueError(f"{source} was changed while it was read: import it again")
        entry = _entry(stored, name, wishes)
        published(root, draft, name, entry)
    warnings = (*told_of_files, *_left_out(survey, files))
    note = _NOTE.format(goals=sum(entry.tasks.values()))
    return ImportReport(entry.tasks, tuple(survey.refused), warnings, (note,))


def _prices(survey: Survey, files: Files, mode: str) -> tuple[Mapping[str, float], str]:
    """Purchase prices of products with a price range, and their source: the table (of `mode` if it has that),
    else draws in the order of the catalogue.
    """
    draw = Random(goals.ORDER_SEED)
    drawn = {asin: draw.uniform(*ends) for asin, ends in survey.ranges.items()}
    if files.prices is None:
        return drawn, f"seeded draw: {_SEEDED}"
    tables = rows.prices(files.prices)
    mode = mode if mode in tables else next(iter(tables), "")
    given = {asin: price for asin, price in tables.get(mode, {}).items() if asin in drawn}
    for asin, price in given.items():
        low, high = sorted(survey.ranges[asin])
        if not low <= price <= high:
            raise CatalogueError(f"{files.prices}: {mode}: {asin}: {price} is not from {low} to {high}")
    rest = len(drawn) - len(given)
    return drawn | given, f"table: {mode}" + (f"; seeded draw for {rest:,} that it has not" if rest else "")


def _wishes(survey: Survey, prices: Mapping[str, float]) -> dict[str, list[Wish]]:
    """Non-empty goal sets; raises `CatalogueError` if there is none."""
    wanted = {product.asin: product.prices[0] for product in (*survey.described, *survey.asked)}
    cost = wanted | {asin: prices[asin] for asin in wanted if asin in prices}
    human = goals.human(survey.asked, survey.instructions, cost, Random(goals.ORDER_SEED))
    synthetic = goals.synthetic(survey.described, survey.annotations, cost, Random(goals.ORDER_SEED))
    found = {
        name: _numbered(name, made) for name, made in (("synthetic", synthetic), ("human", human)) if made
    }
    if not found:
        raise CatalogueError("no product has an instruction, and so the catalogue no goal")
    return found


def _numbered(goal_set: str, made: list[Goal]) -> list[Wish]:
    ordered = goals.shuffled(made)
    return [
        Wish(goal, str(number), split)
        for number, (goal, split) in enumerate(zip(ordered, official(goal_set, len(ordered)), strict=True))
    ]


def _provenance(files: Files) -> tuple[dict[str, str], list[str]]:
    """Settings of each file: its name, its blob id, and if it is the published one; with warnings for those
    that are not.
    """
    settings, warnings = dict[str, str](), list[str]()
    for role, path in files.all():
        blob, known = sources.blob_id(path), sources.PUBLISHED.get(path.name)
        said = "" if known is None else "as published" if blob.startswith(known) else "not as published"
        settings[f"file of {role}"] = f"{path.name} {blob} {said}".rstrip()
        if said == "not as published":
            warnings.append(f"{path.name} is not the published file: its git blob is {blob[:8]}, not {known}")
    return settings, warnings


def _left_out(survey: Survey, files: Files) -> list[str]:
    """Warnings about parts of the source that a catalogue lacks."""
    warnings: list[str] = []
    if survey.synthetic >= survey.most:
        warnings.append(
            f"{survey.synthetic:,} synthetic goals are left out: there are none from {survey.most:,} on"
        )
    for path, missing in ((files.annotations, survey.unknown_annotated), (files.human, survey.unknown_asked)):
        if path is not None and missing:
            warnings.append(f"{path.name}: {missing:,} of its products are not in the catalogue")
    return warnings


def _entry(stored: StoredCatalogue, name: str, wishes: Mapping[str, list[Wish]]) -> Entry:
    tasks: dict[str, int] = {}
    for goal_set, listed in wishes.items():
        for wish in listed:
            split = f"{name}-{goal_set}-{wish.split}"
            tasks[split] = tasks.get(split, 0) + 1
    products = len(stored.products)
    return Entry(folder=stored.folder.name, digest=stored.digest, products=products, tasks=tasks)


def _processes(products: int) -> int:
    """Number of processes; starting others takes seconds, which a small catalogue does not."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES) if products >= MANY else 1


def _stamps(files: Files) -> list[tuple[int, int]]:
    return [(path.stat().st_size, path.stat().st_mtime_ns) for _, path in files.all()]
