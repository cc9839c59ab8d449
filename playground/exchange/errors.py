"""What is said about a file that cannot be read or written."""

from __future__ import annotations


class ExchangeError(Exception):
    """`str(error)` is one sentence that names the line or the field. It quotes little of the file, and none of its
    control characters."""
