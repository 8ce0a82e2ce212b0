"""Sections with alternatives: tagged unions whose members have only the settings that act with them.

    RolloutConfig = Annotated[
        Annotated[SynchronousConfig, Tag("synchronous")] | Annotated[AsynchronousConfig, Tag("asynchronous")],
        tagged_by("mode", "synchronous", "asynchronous"),
    ]

> complaint(RunConfig, error)
"rollout.max_staleness is no setting of rollout 'synchronous'; it belongs to: asynchronous"
"""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, Discriminator, Tag
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from agentevol.core.errors import ConfigError


def tagged_by(key: str, *names: str) -> Discriminator:
    """Discriminator by the value of `key`, which is one of `names`; the first is its default."""

    def tag(given: Any) -> Any:
        return value_of(given, key, names[0])

    return Discriminator(
        tag,
        custom_error_type="no_alternative",
        custom_error_message=f"{key} is one of: {', '.join(names)}",
    )


def value_of(given: Any, key: str, default: Any = None) -> Any:
    """Value of a key in a section that is given as a mapping or as a model."""
    return given.get(key, default) if isinstance(given, Mapping) else getattr(given, key, default)


RENAMED = {"select.rows": "select.sequences", "probe.rows": "probe.sequences"}
"""Keys of earlier versions by their present names."""


def alternatives(field: FieldInfo | None) -> dict[str, type[BaseModel]]:
    """Members of a field's tagged union by tag; empty for any other field."""
    return {
        label.tag: get_args(member)[0]
        for member in get_args(field.annotation if field is not None else None)
        for label in getattr(member, "__metadata__", ())
        if isinstance(label, Tag)
    }


def chosen(field: FieldInfo, given: Mapping[str, Any]) -> tuple[str, type[BaseModel]]:
    """Tag and member of a field's tagged union that a section given as a mapping chooses.

    Raises `ConfigError` where it chooses none.
    """
    members = alternatives(field)
    by = next(one.discriminator for one in field.metadata if isinstance(one, Discriminator))
    tag = str(by(given)) if callable(by) else str(given.get(by))
    if tag not in members:
        raise ConfigError(f"{tag!r} is none of: {', '.join(members)}")
    return tag, members[tag]


def complaint(kind: type[BaseModel], error: ErrorDetails) -> str:
    """Sentence about an error in the configuration `kind`. It names the key without the tags of its path, and
    for a setting that the chosen alternative lacks those that have it.
    """
    path, tag, members = _located(kind, error)
    where = ".".join(path) or "configuration"
    if error["type"] != "extra_forbidden":
        return f"{where}: {error['msg'].removeprefix('Value error, ')}"
    owners = [name for name, member in members.items() if path[-1] in member.model_fields]
    if where in RENAMED:
        return f"{where} is called {RENAMED[where]} now"
    if not owners:
        return f"unknown key {where!r}"
    section = ".".join(path[:-1])
    return f"{where} is no setting of {section} {tag!r}; it belongs to: {', '.join(owners)}"


def _located(kind: type[BaseModel], error: ErrorDetails) -> tuple[list[str], str, dict[str, type[BaseModel]]]:
    """Path of an error, the tag of its innermost section, and the alternatives to that section."""
    path, tag = list[str](), ""
    section, members = kind, dict[str, type[BaseModel]]()
    parts = iter(error["loc"])
    for part in parts:
        path.append(str(part))
        field = section.model_fields.get(path[-1])
        if field is None:
            continue
        members = alternatives(field)
        if members:
            tag = str(next(parts, ""))
            section = members.get(tag, section)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            section = field.annotation
    return path, tag, members
