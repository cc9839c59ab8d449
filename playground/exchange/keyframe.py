"""Copies of what the panels know at a position, from which they go on separately: a keyframe, and a start from it.

`copy.deepcopy` would do the same, fifty times slower: it looks at each number of each row. Here what cannot change is
shared, and a container is copied in one step where nothing in it can.
"""

from __future__ import annotations

import copy
import threading
from collections import Counter, deque
from functools import cache
from typing import Any, TypeVar, cast

from playground.panels.token_text import TokenTexts

T = TypeVar("T")
MAPPINGS = (dict, Counter)
CONTAINERS = (list, deque, tuple, set, *MAPPINGS)
SHARED = (TokenTexts, type(threading.Lock()))
"""The texts of a vocabulary are the same everywhere, and a copy waits for its turn with the rest."""


def copied(value: T) -> T:
    """`value` with all that may change in it copied. Two names of one object become two objects."""
    kind: Any = type(value)
    if not _changes(kind):
        return value
    return cast(T, _container(kind, value) if kind in CONTAINERS else _object(kind, value))


def _container(kind: Any, value: Any) -> Any:
    mapping = kind in MAPPINGS
    if not any(map(_changes, set(map(type, value.values() if mapping else value)))):
        return copy.copy(value)
    if mapping:
        return kind({name: copied(item) for name, item in value.items()})
    items = map(copied, value)
    return deque(items, value.maxlen) if kind is deque else kind(items)


def _object(kind: Any, value: Any) -> Any:
    new = kind.__new__(kind)
    new.__dict__.update({name: copied(item) for name, item in vars(value).items()})
    return new


@cache
def _changes(kind: type) -> bool:
    """Whether a value of this type may change: containers do, and objects but for frozen dataclasses."""
    if kind in CONTAINERS:
        return True
    if issubclass(kind, SHARED):
        return False
    frozen = getattr(kind, "__dataclass_params__", None)
    return not (frozen and frozen.frozen) and kind.__module__.partition(".")[0] in ("engine", "playground")
