"""The app's one registry: session id -> conversation, with a lease that ends some time after it was last asked for."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable

from playground.conversation import Conversation
from playground.limits import Refused

TTL_S = 1800.0
"""Kept for so long after it was last asked for and its last turn ended, in seconds. A page in sight asks every two
seconds and a hidden one every minute; half an hour is for those that a phone has put to sleep."""
CAP = 200
"""Conversations kept at most; the one longest untouched makes room."""
GONE = "No session has this id (any more). Begin a new one: with New on the page, with an empty id in a script."
_SID = re.compile(r"[0-9a-f]{32}")


class Registry:
    """Thread-safe. Ids are 128 random bits, so that knowing one is the right to use it."""

    def __init__(
        self,
        make: Callable[[str], Conversation],
        dispose: Callable[[Conversation], None],
        revive: Callable[[str], Conversation | None] = lambda sid: None,
        *,
        ttl_s: float = TTL_S,
        cap: int = CAP,
    ) -> None:
        self._make = make
        self._dispose = dispose
        self._revive = revive
        self._ttl_s = ttl_s
        self._cap = cap
        self._lock = threading.Lock()
        self._live: dict[str, Conversation] = {}

    def new(self) -> Conversation:
        """A fresh conversation. Raises `Refused` when every kept one is busy."""
        self.sweep()
        return self._add(self._make(secrets.token_hex(16)))

    def get(self, sid: object) -> Conversation:
        """The conversation of an id, brought back if it was kept. Raises `Refused` for anything else."""
        if not isinstance(sid, str) or not _SID.fullmatch(sid):
            raise Refused("That is not a session id; leave it empty to begin a new session.")
        with self._lock:
            conversation = self._live.get(sid)
        if conversation is None:
            kept = self._revive(sid)
            conversation = None if kept is None else self._add(kept)
        if conversation is None:
            raise Refused(GONE)
        conversation.touch()
        return conversation

    def open(self, sid: object) -> Conversation:
        """As `get`, with a new conversation for the empty id."""
        return self.new() if sid == "" else self.get(sid)

    def drop(self, sid: str) -> None:
        """Forget a conversation that was deleted; what runs in it ends."""
        with self._lock:
            conversation = self._live.pop(sid, None)
        if conversation is not None:
            conversation.forget()
            self._dispose(conversation)

    def live(self) -> list[Conversation]:
        """Those in memory now."""
        with self._lock:
            return list(self._live.values())

    def keep_alive(self, sids: Iterable[str]) -> None:
        """Note that someone asked for these, as far as they live."""
        with self._lock:
            known = [self._live[sid] for sid in sids if sid in self._live]
        for conversation in known:
            conversation.touch()

    def page_left(self, page: str, but: Conversation | None = None) -> None:
        """The page with this Gradio session shows none of the conversations any more, or only this one."""
        with self._lock:
            for conversation in self._live.values():
                if conversation is not but and conversation.viewers.pop(page, None) is not None:
                    conversation.touch()

    def sweep(self) -> int:
        """Drop the conversations whose lease ended. Returns how many."""
        now = time.monotonic()
        with self._lock:
            ended = [c for c in self._live.values() if now - c.touched > self._ttl_s and not c.view().running]
            for conversation in ended:
                del self._live[conversation.sid]
        for conversation in ended:
            self._dispose(conversation)
        return len(ended)

    def drop_chats(self) -> None:
        """Detach every conversation from an engine that goes away. Only the worker calls it."""
        for conversation in self.live():
            conversation.detach()

    def close(self) -> None:
        """Stop every turn and forget every conversation."""
        with self._lock:
            live, self._live = list(self._live.values()), {}
        for conversation in live:
            conversation.stop()
        for conversation in live:
            conversation.join()

    def __len__(self) -> int:
        return len(self._live)

    def _add(self, conversation: Conversation) -> Conversation:
        """Take it in, unless another thread was quicker with the same id; then that one is returned."""
        with self._lock:
            there = self._live.get(conversation.sid)
            if there is not None:
                return there
            evicted = self._make_room()
            self._live[conversation.sid] = conversation
        if evicted is not None:
            self._dispose(evicted)
        return conversation

    def _make_room(self) -> Conversation | None:
        if len(self._live) < self._cap:
            return None
        # An open tab asks now and then, so it gives way after those that are closed; a running turn never does.
        quiet = [c for c in self._live.values() if not c.view().running]
        if not quiet:
            raise Refused("This server is answering in as many conversations as it keeps; try again in a moment.")
        return self._live.pop(min(quiet, key=lambda c: c.touched).sid)
