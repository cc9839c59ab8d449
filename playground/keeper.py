"""Keeps conversations: what a chat has said goes into the store, and comes back out as a transcript."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from playground.limits import TurnOptions
from playground.store import Store, StoreError, Talk
from playground.store.transcripts import path_of, transcript_of

if TYPE_CHECKING:
    from engine.chat import ChatSession
    from engine.chat.transcript import Transcript
    from playground.view import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """A conversation as it comes out of the store."""

    talk: Talk

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a page shows of it."""
        return tuple((node.said.role, node.said.content) for node in self.talk.path)

    def options(self, first: TurnOptions) -> TurnOptions:
        """Its settings; what was not kept, or is no setting any more, is as in `first`."""
        known = {field.name for field in fields(TurnOptions)}
        kept: dict[str, Any] = {name: value for name, value in self.talk.settings.items() if name in known}
        kept = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
        return TurnOptions(**{field.name: getattr(first, field.name) for field in fields(first)} | kept)

    def transcript(self, checkpoint: str) -> Transcript:
        """For `ChatSession.restore`. Ids of another checkpoint mean nothing, so those answers become text."""
        return transcript_of(self.talk, checkpoint)


class Keeper:
    """One store. What cannot be kept is logged and told by `trouble`; the conversation itself goes on."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.trouble = store.notice
        """A sentence on what could not be kept, or ''."""

    def save(self, sid: str, chat: ChatSession, options: TurnOptions | None) -> None:
        """Keep what the chat shows now, and its settings."""
        settings: Mapping[str, Any] = {} if options is None else _settings(options)
        try:
            if sid not in self.store:
                self.store.create(sid)
            path = path_of(chat.transcript, str(chat.engine.checkpoint.id))
            self.store.save_path(sid, path, system=chat.transcript.system or "", settings=dict(settings) or None)
            self.trouble = ""
        except StoreError as error:
            log.warning("a conversation could not be kept: %s", error)
            self.trouble = str(error)

    def load(self, sid: str) -> Kept | None:
        """The conversation of `sid`; None when none is kept."""
        try:
            return Kept(self.store.load(sid)) if sid in self.store else None
        except StoreError as error:
            log.warning("a conversation could not be read: %s", error)
            return None


def _settings(options: TurnOptions) -> dict[str, Any]:
    """The options as the store takes them; the system message is kept apart."""
    own = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "system"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
