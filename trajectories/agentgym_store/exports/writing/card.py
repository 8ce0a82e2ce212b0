"""Data card of an export: the `README.md` of a data set, in the form of the Hugging Face hub.

Its header names the files of each split and the columns, so that `datasets.load_dataset` needs nothing else.
It holds no time and no path, so that equal exports have equal cards.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from agentgym_envs.licences import UNKNOWN, Licence, data_licence
from agentgym_store.exports.contract import ExportFormat, Tally
from agentgym_store.exports.writing.facts import Facts, Group, Range
from agentgym_store.exports.writing.shards import DataFile

SHOWN = 20
"""Maximum number of names in one line of lineage."""
SIZES = (
    *((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")),
    *((10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"), (1_000_000_000, "100M<n<1B")),
)
"""The hub's categories of size by their upper bounds."""


@dataclass(frozen=True)
class Origin:
    """The table that was exported, and what was selected from it."""

    version: int
    digest: str
    filters: Mapping[str, str]


@dataclass(frozen=True)
class Written:
    """The rows of an export."""

    facts: Facts
    tally: Tally
    tasks: Mapping[str, int]
    """Tasks by split."""
    files: Sequence[DataFile]


class _Written(yaml.SafeDumper):
    """YAML in which a value that occurs twice is written twice, not as a reference."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def card(title: str, export_format: ExportFormat, origin: Origin, written: Written, distinct: bool) -> str:
    """The text of the card."""
    sections = (
        _summary(title, export_format, written),
        _loading(export_format, written.files),
        _contents(written),
        _losses(export_format),
        _lineage(export_format, origin, written.facts, distinct),
        _sources(written.facts),
        _files(written.files),
    )
    header = yaml.dump(
        _header(title, export_format, written), Dumper=_Written, sort_keys=False, allow_unicode=True
    )
    body = "\n".join("\n".join((*section, "")) for section in sections)
    return f"---\n{header}---\n\n{body}".rstrip() + "\n"


def _header(title: str, export_format: ExportFormat, written: Written) -> dict[str, Any]:
    licences = sorted({_hub_name(licence) for *_, licence in _licences(written.facts)}) or ["other"]
    total = sum(written.facts.rows.values())
    sizes = {
        split: sum(file.size for file in written.files if file.split == split) for split in _splits(written)
    }
    splits = [
        {"name": split, "num_bytes": size, "num_examples": written.facts.rows.get(split, 0)}
        for split, size in sizes.items()
    ]
    info: dict[str, Any] = {"splits": splits, "dataset_size": sum(sizes.values())}
    if export_format.features is not None:
        info = {"features": export_format.features, **info}
    files = [
        {"split": split, "path": [file.name for file in written.files if file.split == split]}
        for split in sizes
    ]
    return {
        "license": licences if len(licences) > 1 else licences[0],
        "pretty_name": title,
        "tags": ["agents", "trajectories", "agentevol", export_format.name],
        "task_categories": ["text-generation"],
        "size_categories": [next((name for bound, name in SIZES if total < bound), "1B<n<10B")],
        "configs": [{"config_name": "default", "data_files": files}],
        "dataset_info": info,
    }


def _hub_name(licence: Licence) -> str:
    return "other" if licence.name == UNKNOWN else licence.name


def _splits(written: Written) -> list[str]:
    return list(dict.fromkeys(file.split for file in written.files))


def _summary(title: str, export_format: ExportFormat, written: Written) -> Iterator[str]:
    rows = sum(written.facts.rows.values())
    episodes = sum(group.episodes for group in written.facts.environments.values())
    yield f"# {title}"
    yield ""
    counted = f"{rows:,} rows of {episodes:,} episodes of agents"
    yield f"{counted}, as `{export_format.name}`. {export_format.summary}"


def _loading(export_format: ExportFormat, files: Sequence[DataFile]) -> Iterator[str]:
    yield "## Use"
    yield ""
    yield "```python"
    yield "from datasets import load_dataset"
    yield ""
    single = len(files) == 1 and "/" not in files[0].name
    kind = "parquet" if export_format.layout == "parquet" else "json"
    source = f'"{kind}", data_files="{files[0].name}"' if single else '"FOLDER"'
    yield f"rows = load_dataset({source})"
    yield "```"
    if export_format.trainer:
        yield ""
        yield f"TRL's `{export_format.trainer}` takes a split as its `train_dataset`, unchanged."


def _contents(written: Written) -> Iterator[str]:
    yield "## Contents"
    yield ""
    yield from _table(
        ("split", "rows", "tasks"),
        [
            (split, f"{written.facts.rows.get(split, 0):,}", f"{written.tasks.get(split, 0):,}")
            for split in _splits(written)
        ],
    )
    yield ""
    header = ("environment", "rows", "episodes", "turns", "scored", "success", "mean return", "returns")
    yield from _table(
        header, [(env, *_figures(group)) for env, group in sorted(written.facts.environments.items())]
    )
    left_out = {reason: count for reason, count in sorted(written.tally.left_out.items()) if count}
    if left_out:
        yield ""
        yield "Left out:"
        yield ""
        yield from (f"- {count:,} {reason}" for reason, count in left_out.items())


def _figures(group: Group) -> tuple[str, ...]:
    counts = (f"{group.rows:,}", f"{group.episodes:,}", f"{group.turns:,}", f"{group.scored:,}")
    if not group.scored:
        return (*counts, "-", "-", "-")
    success, mean = group.successes / group.scored, group.total_reward / group.scored
    return (*counts, f"{success:.1%}", f"{mean:.4g}", f"{group.least:g} to {group.most:g}")


def _losses(export_format: ExportFormat) -> Iterator[str]:
    yield "## Not in this data set"
    yield ""
    if not export_format.loses:
        yield "Nothing is lost: `agentevol trajectories import` restores every field of every episode."
        return
    yield from (f"- {loss}" for loss in export_format.loses)


def _lineage(export_format: ExportFormat, origin: Origin, facts: Facts, distinct: bool) -> Iterator[str]:
    yield "## Lineage"
    yield ""
    yield f"- table of trajectories: version {origin.version}, files {origin.digest}"
    yield f"- runs: {_ranges(facts.runs, 'iteration')}"
    yield f"- policies: {_ranges(facts.policies, 'version')}"
    yield f"- purposes: {_named(f'{name} ({count:,})' for name, count in sorted(facts.purposes.items()))}"
    yield f"- filters: {_named(f'{name} = {value}' for name, value in origin.filters.items()) or 'none'}"
    options = {name: value for name, value in export_format.options.items() if value is not None}
    told = _named(f"{name} = {value}" for name, value in sorted(options.items()))
    yield f"- options: {told or 'none'}"
    yield f"- repeated rows: {'dropped' if distinct else 'kept'}"


def _ranges(ranges: Mapping[str, Range], what: str) -> str:
    return _named(f"`{name}` ({_range(one, what)})" for name, one in sorted(ranges.items()))


def _range(one: Range, what: str) -> str:
    episodes = f"{one.episodes:,} episodes"
    if one.first is None:
        return episodes
    numbers = f"{what} {one.first}" if one.first == one.last else f"{what}s {one.first} to {one.last}"
    return f"{numbers}, {episodes}"


def _named(parts: Iterable[str]) -> str:
    found = list(parts)
    more = f", and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def _licences(facts: Facts) -> list[tuple[str, str, str, int, Licence]]:
    found: list[tuple[str, str, str, int, Licence]] = []
    for source, episodes in sorted(facts.sources.items()):
        env, version, data_version = json.loads(source)
        found.append((env, version, data_version, episodes, data_licence(env, data_version)))
    return found


def _sources(facts: Facts) -> Iterator[str]:
    yield "## Source data and licences"
    yield ""
    rows = [
        (env, version, f"`{data}`", f"{episodes:,}", licence.name, licence.note)
        for env, version, data, episodes, licence in _licences(facts)
    ]
    yield from _table(
        ("environment", "version", "data version", "episodes", "licence of the data", "data"), rows
    )
    yield ""
    yield "Messages of agents are by the policies named above: the licences of their models may apply, too."


def _files(files: Sequence[DataFile]) -> Iterator[str]:
    yield "## Files"
    yield ""
    yield from _table(
        ("file", "bytes", "sha256"), [(file.name, f"{file.size:,}", f"`{file.sha256}`") for file in files]
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown; bars and line breaks of foreign names do not break it."""
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        cells = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(cells)} |"
