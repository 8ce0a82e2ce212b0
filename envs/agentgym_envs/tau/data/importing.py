"""Import of a domain's folder: `import_domain`. `agentgym_envs.tau.data.library` reads imported data.

Each task's gold solution is played and has to earn the reward; a task whose solution does not is refused. The
new folder is complete before the manifest names it, so an interrupted import changes nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.tau.data.domain import Domain, Tasks, TaskSource
from agentgym_envs.tau.data.folder import DomainFolder, find_folders, read_folder
from agentgym_envs.tau.data.library import TASKS, ImportedData, Manifest, StoredDomain, StoredFile
from agentgym_envs.tau.reading import TauDataError, tau1_task, tau2_task
from agentgym_envs.tau.tasks import TauTask

Progress = Callable[[int], None]
Splits = dict[str, list[TauTask]]


@dataclass(frozen=True)
class Trial:
    """Rewards of a task's two simplest policies."""

    solved: float
    """Reward of the gold solution."""
    idle: float
    """Reward of ending at once."""
    failed: tuple[str, ...] = ()
    """Names of gold writes that return an error."""


@dataclass(frozen=True)
class DomainRules:
    """Facts that an import needs about a domain."""

    env: str
    """Name of the environment."""
    folder: str
    """Name of the domain's folder."""
    trial: Callable[[TaskSource], Callable[[TauTask], Trial]]
    """Function that plays tasks of a source."""
    prepared: Callable[[DomainFolder], Domain]
    """The base data of a folder; raises `TauDataError` if something is missing."""
    id_prefix: str = ""
    """Prefix of the ids of tau2's tasks, where they are not distinct without one."""
    states: bool = False
    """True if tasks may begin with initial data and a dialogue so far."""
    more: Callable[[DomainFolder, Splits], Splits] | None = None
    """Further splits, generated from a folder's published ids."""


@dataclass
class _Found:
    domains: dict[str, Domain] = field(default_factory=dict[str, Domain])
    splits: Splits = field(default_factory=dict[str, list[TauTask]])
    refused: list[Refused] = field(default_factory=list[Refused])


def import_domain(
    rules: DomainRules, source: Path, home: Path, progress: Progress | None = None
) -> ImportReport:
    """Import a domain's folders of tau-bench and tau2-bench, replacing an earlier import.

    `progress` is called with the number of tasks judged so far. Raises `TauDataError` if `source` has no
    folder of the domain or no task that can be solved, `OSError` if something cannot be read or written.
    """
    if not source.is_dir():
        raise TauDataError(f"{source} is no folder")
    found = _found(rules, source)
    splits = _judged(rules, found, progress or (lambda _: None))
    root = home / rules.env
    with draft(root, "data-") as folder:
        publish(root, folder, _written(folder, found.domains, splits), _before(root))
    return ImportReport({name: len(tasks) for name, tasks in splits.items()}, tuple(found.refused))


def _found(rules: DomainRules, source: Path) -> _Found:
    found = _Found()
    for version, path in find_folders(source, rules.folder).items():
        folder = read_folder(path, version)
        found.domains[version] = rules.prepared(folder)
        splits = _tau1(rules, folder, found) if version == "tau1" else _tau2(rules, folder, found)
        found.splits |= {**splits, **(rules.more(folder, splits) if rules.more else {})}
    return found


def _tau1(rules: DomainRules, folder: DomainFolder, found: _Found) -> Splits:
    splits: Splits = {}
    for split, rows in folder.tasks.items():
        for number, raw in enumerate(rows):
            task = _read(found, partial(tau1_task, rules.env, split, number, raw))
            splits.setdefault(f"tau1_{split}", []).extend(task)
    return splits


def _tau2(rules: DomainRules, folder: DomainFolder, found: _Found) -> Splits:
    """Splits of the tasks' ids; tasks that no split names are the split `tau2_base`."""
    owners = {
        one: split for split in ("train", "test") for one in folder.split_ids.get(split, ())
    }  # `base` is both of them, and `full` has ids without tasks
    splits: Splits = {}
    for file, rows in folder.tasks.items():
        for raw in rows:
            split = f"tau2_{owners.get(str(raw.get('id')), file)}"
            reader = partial(tau2_task, rules.env, split, raw, prefix=rules.id_prefix, states=rules.states)
            splits.setdefault(split, []).extend(_read(found, reader))
    return splits


def _read(found: _Found, reader: Callable[[], TauTask]) -> list[TauTask]:
    """The task, or none if it is refused."""
    try:
        return [reader()]
    except TauDataError as error:
        found.refused.append(Refused(name=str(error).partition(":")[0], reason=str(error)))
        return []


def _judged(rules: DomainRules, found: _Found, progress: Progress) -> Splits:
    """The tasks that can be solved, each with `trainable`."""
    play = rules.trial(Tasks(found.splits, found.domains, "importing"))
    judged: Splits = {}
    seen, number = set[str](), 0
    for split, tasks in found.splits.items():
        for task in tasks:
            number += 1
            progress(number)
            refusal, trainable = _judgement(play, task, seen)
            if refusal:
                found.refused.append(Refused(name=task.id, reason=refusal))
            else:
                judged.setdefault(split, []).append(task.model_copy(update={"trainable": trainable}))
    if not judged:
        first = f"; the first of {len(found.refused)}: {found.refused[0].reason}" if found.refused else ""
        raise TauDataError(f"there is no task of {rules.env} that can be solved{first}")
    return judged


def _judgement(play: Callable[[TauTask], Trial], task: TauTask, seen: set[str]) -> tuple[str, bool]:
    """Reason for which a task is refused, or '', and whether it is trainable."""
    if task.id in seen:
        return f"the id {task.id!r} occurs twice", False
    seen.add(task.id)
    try:
        trial = play(task)
    except (TauDataError, KeyError) as cause:
        return str(cause), False
    if trial.solved < 1:
        return f"its gold solution earns {trial.solved:g}", False
    return "", trial.idle == 0 and not trial.failed


def _written(folder: Path, domains: Mapping[str, Domain], splits: Splits) -> Manifest:
    sources, files = dict[str, StoredFile](), dict[str, StoredFile]()
    for name, domain in domains.items():
        content = StoredDomain.model_validate(
            {"tables": domain.tables, "phone": domain.phone, "policies": domain.policies}
        )
        path = folder / f"{name}.json"
        path.write_text(content.model_dump_json(), encoding="utf-8")
        sources[name] = StoredFile(file=path.name, sha256=file_sha256(path))
    for name, tasks in splits.items():
        path = folder / f"{name}.json"
        path.write_bytes(TASKS.dump_json(tuple(tasks)))
        files[name] = StoredFile(file=path.name, sha256=file_sha256(path), tasks=len(tasks))
    return Manifest(folder=folder.name, sources=sources, splits=files)


def _before(root: Path) -> str | None:
    """Folder of the data that are imported now."""
    try:
        found = ImportedData.open(root.parent, root.name)
    except TauDataError:
        return None
    return found.manifest.folder if found else None
