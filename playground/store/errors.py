"""What the store says when it cannot do what was asked; nothing has changed then."""

from __future__ import annotations


class StoreError(Exception):
    """`str(error)` is one sentence for the visitor: what happened and what to do. It holds no path and no id."""


class StoreFull(StoreError):
    """There is no room left."""


class StoreTooNew(StoreError):
    """The file on disk was written by a later version of this program, and was left as it is."""
