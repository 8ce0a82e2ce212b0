"""JSON values that nobody can change, and that episodes may therefore share.

> schema = read_only({"required": ["title"]})
> schema["required"].append("start")
TypeError: episodes share this value: change a copy of it
"""

from typing import Any, NoReturn, cast


def read_only(value: Any) -> Any:
    """A JSON value that is equal to the given one and shares nothing with it; to change it raises
    `TypeError`.
    """
    if isinstance(value, dict):
        return ReadOnlyDict({key: read_only(member) for key, member in cast("dict[str, Any]", value).items()})
    if isinstance(value, list):
        return ReadOnlyList(read_only(member) for member in cast("list[Any]", value))
    return value


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("episodes share this value: change a copy of it")


class ReadOnlyDict(dict[str, Any]):
    """Dictionary without the methods that change one; its copies may be changed."""

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[Any]):
    """List without the methods that change one; its copies may be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused
    append = clear = extend = insert = pop = remove = reverse = sort = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)
