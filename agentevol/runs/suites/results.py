"""Results of an evaluation suite: its sample for people to rate, and its report."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentevol.config.suite import SuiteConfig
from agentevol.core.errors import ConfigError
from agentevol.data.feedback.opinions import feedback_on
from agentevol.loop.report.document import Document, write_document
from agentevol.loop.report.evaluations.losses import LOSS_CLASSES
from agentevol.loop.report.evaluations.model_comparison import Named
from agentevol.loop.report.examples import Example
from agentevol.loop.report.suites.sampling import stratified_sample
from agentevol.loop.report.suites.suite_report import Content, SuiteReport, samples, suite_report
from agentevol.loop.report.suites.tables import suite_document
from agentevol.runs.suites.folder import REPORTS, SAMPLE, TRAJECTORIES, records_file, records_in, suite_in
from agentevol.runs.suites.plan import places_of
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback
from agentgym_store.store import Store, Where


def results_of(path: Path) -> tuple[SuiteReport, Document]:
    """The report of a suite's folder, whose parts are all finished. Raises `ConfigError`, `StoreError`."""
    config = suite_in(path)
    records = _records(path, config)
    content = Content(
        config.model_dump(mode="json", exclude_none=True), records, _sampled(path), _opinions(path)
    )
    found = suite_report(content)
    return found, suite_document(found, _examples(path, found))


def draw_sample(path: Path) -> None:
    """Write the table of the episodes that people shall rate, if there are to be any. Raises `ConfigError`
    where there is a sample of another size, on which people may have said something.
    """
    config = suite_in(path)
    if not config.sample:
        return
    chosen = stratified_sample(samples(_records(path, config)), config.sample, config.seed)
    before = _sampled(path)
    if before:
        if set(before) != set(chosen):
            raise ConfigError(
                f"{path / SAMPLE} has a sample of {len(before)} episodes already: move it away, with its"
                " feedback, or keep its size"
            )
        return
    found = {one.id: one for one in Store.open(path / TRAJECTORIES).trajectories(Where(ids=chosen))}
    store = Store.open(path / SAMPLE, create=True)
    store.append([found[name] for name in chosen], commit={"suite": config.name, "part": SAMPLE})


def write_reports(path: Path) -> tuple[SuiteReport, Document]:
    """Write the reports into the folder of a suite, in place of earlier ones."""
    found, document = results_of(path)
    for name in REPORTS:
        write_document(path / name, document, found.model_dump(mode="json"))
    return found, document


def _records(path: Path, config: SuiteConfig) -> dict[str, Named]:
    """Environment -> model -> records. Raises `ConfigError` for parts that are not finished."""
    parts = places_of(config)
    missing = [part.name for part in parts if not records_file(path, part).is_file()]
    if missing:
        raise ConfigError(
            f"{path} is not finished: {len(missing)} of {len(parts)} parts are missing, the first"
            f" {missing[0]}; continue with agentevol eval --suite {path}/suite.toml --out {path}"
        )
    found: dict[str, dict[str, Any]] = {}
    for part in parts:
        found.setdefault(part.environment.name, {})[part.model.name] = records_in(path, part)
    return dict(found)


def _sampled(path: Path) -> list[str]:
    """Ids of the episodes that people shall rate, in the order of the table."""
    if not (path / SAMPLE).is_dir() or not Store.exists(path / SAMPLE):
        return []
    return [str(name) for (name,) in Store.open(path / SAMPLE, create=False).rows(["id"])]


def _opinions(path: Path) -> list[Feedback]:
    """Opinions that stand on episodes of the suite, in its table and in its sample."""
    places: Iterable[Path] = [path, path / SAMPLE] if _sampled(path) else [path]
    return standing(record for place in places for record in feedback_on(place).records())


def _examples(path: Path, found: SuiteReport) -> list[Example]:
    """The first lost episode of each class."""
    reasons = _first_losses(found.parts)
    if not reasons:
        return []
    store = Store.open(path / TRAJECTORIES, create=False)
    episodes = {one.id: one for one in store.trajectories(Where(ids=list(reasons)))}
    return [Example(reason, episodes[name]) for name, reason in reasons.items() if name in episodes]


def _first_losses(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Id -> class of the first lost episode of each class."""
    reports: Sequence[Any] = [report for models in parts.values() for report in models.values()]
    found: dict[str, str] = {}
    for name in LOSS_CLASSES:
        first = next((one.losses[name].examples[0] for one in reports if name in one.losses), None)
        if first is not None:
            found[first] = name
    return found
