"""Keeps conversations: what a chat has said goes into the store, and comes back out as a transcript."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from playground.behind import Behind
from playground.conversations.record import Record, blank, record_of
from playground.limits import TurnOptions
from playground.reach import reachable_by_others
from playground.settings import KEEP_NOTHING, Settings
from playground.store import Begun, Said, Store, StoreError, StoreFull, Talk, open_store
from playground.store.transcripts import path_of, transcript_of

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession
    from engine.chat.transcript import Transcript
    from playground.store.values import Figure
    from playground.view import Message

PASSING_S = 2 * 3600.0
"""Seconds after its last change that a conversation is forgotten where nothing is kept on the disk."""
DELETED_S = 3600.0
"""Seconds for which a deletion can be undone; the app's end takes what was deleted along too."""
UNEXPECTED = "Something went wrong while the conversation was being kept; the server's log has the details."
log = logging.getLogger(__name__)
T = TypeVar("T")


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

    def transcript(self, engine: Engine) -> Transcript:
        """For `ChatSession.restore`. Ids of another checkpoint mean nothing, and ids that do not say what the page
        shows are not believed, so those answers become text."""
        return transcript_of(self.talk, str(engine.checkpoint.id), engine.tokenizer)


class Keeper:
    """One store. What cannot be kept is logged and told; the conversation itself goes on."""

    def __init__(self, store: Store, *, on_disk: bool = True, notice: str = "") -> None:
        self.store = store
        self.on_disk = on_disk
        self.notice = notice or store.notice
        """A sentence on what was found at the start, or ''."""
        self.full = ""
        """That nothing more fits, which concerns everyone, or ''."""
        self.began = time.time()
        """Seconds since 1970: what changed last before this was kept by an earlier start."""
        self.behind = Behind("keeper")
        """Writes what no answer should wait for."""

    def begin(self, sid: str, messages: Collection[Message], options: TurnOptions) -> Begun | None:
        """A turn begins, and a page shows `messages`, the answer to come left out: keep them, should the program end
        before the turn. None where that cannot be done; the end of the turn will say why."""
        path = [Said(role, text) for role, text in messages]  # type: ignore[arg-type]  # the store checks
        settings = _settings(options)
        try:
            return self._with_room(sid, lambda: self.store.begin(sid, path, system=options.system, settings=settings))
        except StoreError as error:
            log.warning("the beginning of a turn could not be kept: %s", error)
        except Exception:
            log.exception("the beginning of a turn could not be kept")
        return None

    def so_far(self, sid: str, begun: Begun, text: str) -> Begun:
        """Keep what has been said of the answer of a turn that `begin` kept."""
        try:
            return self.store.so_far(sid, begun, text)
        except StoreError as error:
            log.warning("the beginning of an answer could not be kept: %s", error)
            return begun

    def take_back(self, sid: str, begun: Begun) -> None:
        """The turn ended before a chat took it up: nothing of it is kept."""
        try:
            self.store.take_back(sid, begun)
        except StoreError as error:
            log.warning("a turn that never was is still kept: %s", error)

    def save(
        self,
        sid: str,
        chat: ChatSession,
        options: TurnOptions | None,
        begun: Begun | None = None,
        books: Mapping[str, Any] | None = None,
        anew: bool = False,
    ) -> str:
        """Keep what the chat shows now, and its settings, in place of what was kept of the turn when it had `begun`.
        `books` and `anew`: as `Store.save_path` takes them. Returns why that could not be done, or ''."""
        settings: Mapping[str, Any] = {} if options is None else _settings(options)
        try:
            if sid not in self.store:
                if not chat.transcript.exchanges:
                    return ""  # nothing was said yet
                self._with_room(sid, lambda: self.store.create(sid))
            origins, drafting = _made(chat)
            path = path_of(chat.transcript, str(chat.engine.checkpoint.id), origins=origins, drafting=drafting)
            system = chat.transcript.system or ""
            kept = {
                "system": system,
                "settings": dict(settings) or None,
                "instead": begun,
                "books": books,
                "anew": anew,
            }
            self._with_room(sid, lambda: self.store.save_path(sid, path, **kept))  # type: ignore[arg-type]
        except StoreError as error:
            log.warning("a conversation could not be kept: %s", error)
            return str(error)
        except Exception:
            log.exception("a conversation could not be kept")
            return UNEXPECTED
        return ""

    def load(self, sid: str) -> Kept | None:
        """The conversation of `sid`; None when none is kept."""
        try:
            return Kept(self.store.load(sid)) if sid in self.store else None
        except StoreError as error:
            log.warning("a conversation could not be read: %s", error)
            return None

    def record(self, sid: str, *, lost: bool = False) -> Record | None:
        """What was recorded of it, as `record_of` has it; None when there is nothing."""
        try:
            self.behind.settle()
            figures = self.store.load_books(sid)
            if figures is None:
                return blank() if lost else None
            return record_of(figures, self.store.load_trace(sid), lost=lost)
        except StoreError as error:
            log.warning("what was recorded of a conversation could not be read: %s", error)
            return None

    def switch(self, sid: str, node: int | None) -> Kept:
        """Show the path to `node`, nothing for None. Raises `StoreError`."""
        self.store.switch(sid, node)
        return Kept(self.store.load(sid))

    def add(self, sid: str, talk: Talk) -> None:
        """Keep a conversation from elsewhere, as changed now. Raises `StoreError`."""
        self._with_room(sid, lambda: self.store.add(sid, replace(talk, updated=time.time())))

    def name_of(self, sid: str) -> str:
        """The name of a conversation; '' where it has none, or none is kept."""
        try:
            return self.store.name_of(sid)
        except StoreError as error:
            log.warning("a conversation's name could not be read: %s", error)
            return ""

    def _with_room(self, sid: str, write: Callable[[], T]) -> T:
        """Write. What was deleted makes room at once, then the traces of others, and in a memory that many share then
        what is longest unchanged. Raises `StoreError`."""
        while True:
            try:
                written = write()
            except StoreFull as error:
                if self.store.purge() or self.store.drop_trace(but=sid):
                    continue
                if self.on_disk or not self.store.make_room(but=sid):
                    self.full = str(error)
                    raise
            else:
                self.full = ""
                return written

    def sweep(self, live: Collection[str]) -> None:
        """Forget for good what was deleted long ago; where nothing is kept on the disk, what nobody has changed for
        long too, except for `live`."""
        try:
            self.store.purge(DELETED_S)
            if not self.on_disk:
                self.store.expire(PASSING_S, live)
        except StoreError as error:
            log.warning("old conversations could not be forgotten: %s", error)

    def close(self) -> None:
        """What is being written behind is written, and what was deleted is gone for good. Harmless when closed."""
        self.behind.close()
        with suppress(StoreError):
            self.store.purge()
        self.store.close()


def passing_keeper(notice: str = "") -> Keeper:
    """Keeps conversations in memory alone."""
    return Keeper(Store(None), on_disk=False, notice=notice)


def open_keeper(settings: Settings) -> Keeper:
    """As the operator wants it: in a folder, or where none was named and others reach the app, in memory alone.

    A folder that cannot be used does not keep the app from starting; the page says it.
    """
    if settings.data == KEEP_NOTHING or (settings.data_folder is None and reachable_by_others(settings)):
        return passing_keeper()
    try:
        store = open_store(settings.data_folder)
        store.purge()  # what was deleted before an end that could not see to it
        return Keeper(store)
    except StoreError as error:
        log.warning("conversations are not kept: %s", error)
        return passing_keeper(str(error))


def _made(chat: ChatSession) -> tuple[list[Any], dict[str, Figure]]:
    """Where the last answer's tokens come from, and how it was made; nothing before a turn."""
    turn = chat.turn
    if turn is None:
        return [], {}
    figures = turn.telem
    session = chat.session
    return list(turn.origin), {
        "drafter": session.drafter.name,
        "draft_len": session.draft_len,
        "rounds": figures.rounds,
        "drafted": figures.drafted,
        "accepted": figures.accepted,
    }


def _settings(options: TurnOptions) -> dict[str, Any]:
    """The options as the store takes them; the system message is kept apart."""
    own = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "system"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
