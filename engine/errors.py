"""Every error the engine raises on purpose: one sentence that says what happened and what to do."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all errors the engine raises on purpose; `str(error)` is fit to show to a user."""


class CheckpointError(EngineError):
    """A checkpoint cannot be found, read, fitted in memory or served exactly."""


class DrafterMismatch(EngineError):
    """A drafter does not fit the trunk (another tokenizer, an unknown name, a bad draft length)."""


class SessionStateError(EngineError):
    """The call is not valid in the session's present state; the message names the call that is."""


class ContextFull(EngineError):
    """Nothing can be emitted, or the suffix does not fit, in the context that is left; nothing changed."""

    def __init__(self, message: str, *, used: int, needed: int, max_ctx: int) -> None:
        super().__init__(message)
        self.used = used
        self.needed = needed
        self.max_ctx = max_ctx
