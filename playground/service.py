"""The engine behind the page: loaded in the background, replaced only by one that loaded, shared by conversations.

A load runs on a thread of its own beside the worker's line, so that the running engine keeps answering; only the
replacement is a job, alone in the line after every turn that has begun. While there is no engine, or the running one
is to be unloaded first, the load stands in the line itself: whoever writes meanwhile waits for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from engine.errors import EngineError
from playground.conversation import Conversation
from playground.conversations.reviving import revived
from playground.exactness import Check, OneAtATime, check_session
from playground.keeper import Keeper, passing_keeper
from playground.limits import Refused
from playground.models.engine_status import EngineFacts, EngineStatus, facts_of, held_bytes
from playground.models.loading import Before, Load, Loading, Progress
from playground.models.release import give_back_memory
from playground.models.room import NoRoom
from playground.registry import Registry
from playground.settings import Settings
from playground.worker import Worker

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession

__all__ = ["EngineFacts", "EngineStatus", "Load", "Progress", "Service", "chat_of", "facts_of", "load_from_settings"]
LINE = "engine"
"""Owner of the jobs that put an engine in place."""
log = logging.getLogger(__name__)


class Service:
    """Owns the worker, the registry and the engine. What needs a model is passed in, so that tests need none."""

    def __init__(
        self,
        settings: Settings,
        load: Load,
        chat_of: Callable[[Engine], ChatSession],
        check: Check = check_session,
        keeper: Keeper | None = None,
    ) -> None:
        """Without a `keeper`, conversations are in memory alone. The service closes it."""
        self.settings = settings
        self.keeper = keeper or passing_keeper()
        self._load = load
        self._chat_of = chat_of
        self._check = OneAtATime(check)
        self._engine: Engine | None = None
        self._loading: Loading | None = None
        self._beside: threading.Thread | None = None
        self._talks: WeakSet[Conversation] = WeakSet()
        self._lock = threading.Lock()
        self._status = EngineStatus("loading", "Starting the engine")
        self._settled = threading.Event()
        self.worker = Worker(idle=self._sweep)
        self.registry = Registry(self._new_conversation, self._dispose, self._revive)

    @property
    def engine(self) -> Engine | None:
        """The running engine; None until one has loaded."""
        return self._engine

    @property
    def status(self) -> EngineStatus:
        """The present status."""
        return self._status

    def start(
        self, settings: Settings | None = None, *, unload_first: bool = False, before: Before | None = None
    ) -> None:
        """Load an engine. A running one keeps answering until the new one is ready, and stays if that fails.

        `unload_first` ends every answer and lets the running engine go before the load; should the load fail then, the
        former model is loaded again. `before` runs ahead of the load and may refuse it. Raises `Refused` while another
        load runs.
        """
        with self._lock:
            if self._loading is not None:
                raise Refused(f"{self._loading.name} is still being loaded; wait for its end or cancel it first.")
            loading = self._loading = Loading(settings or self.settings, self._load, self._told, before)
            self._settled.clear()
            sentence = f"Loading {loading.name}"
            self._change(state="loading", sentence=sentence, fraction=None, since=time.monotonic(), crowded=False)
        runs = self._engine is not None
        if unload_first or not runs:
            self.worker.submit(LINE, lambda: self._load_in_line(loading), alone=True)
        else:
            self._beside = threading.Thread(target=self._load_beside, args=(loading,), name="load", daemon=True)
            self._beside.start()
        if unload_first and runs:
            self._stop_turns()

    def cancel(self) -> bool:
        """Call the running load off: it ends at its next report. False when there is none, or it is too late."""
        loading = self._loading
        if loading is None or not loading.cancel():
            return False
        self._told(f"Cancelling {loading.name}", None)
        self._withdraw()
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the last load has ended, well or not. False on time-out."""
        return self._settled.wait(timeout)

    def close(self) -> None:
        """Stop a load and every turn, then the worker, then the engine."""
        self.cancel()
        self.registry.close()
        if self._beside is not None:
            self._beside.join(10.0)
        self.worker.close()
        if self._engine is not None:
            self._engine.close()
        self.keeper.close()

    def _load_beside(self, loading: Loading) -> None:
        loading.run()
        if not loading.loaded:
            self._settle(loading)
            return
        self._told(f"{loading.name} is ready and takes over when the answers that have begun are complete", None)
        self.worker.submit(LINE, lambda: self._settle(loading), alone=True)
        if loading.cancelled:  # between the two lines above, when there was nothing to withdraw yet
            self._withdraw()

    def _load_in_line(self, loading: Loading) -> None:
        former = None if loading.cancelled else self._unload()
        loading.run()
        if former is None or loading.loaded:
            self._settle(loading)
            return
        loading.take()
        log.error("%s", loading.why())
        with self._lock:
            again = self._loading = Loading(former, self._load, self._told)
        again.run()
        self._settle(again, said=f"{loading.why()} ")

    def _settle(self, loading: Loading, said: str = "") -> None:
        """Put what was loaded in place, or say why there is nothing. `said` comes before the sentence."""
        engine = loading.take()
        if engine is None:
            self._fail(loading, said)
        else:
            self._replace(engine, loading.settings, said)
        self._settled.set()

    def _replace(self, engine: Engine, settings: Settings, said: str) -> None:
        former, self._engine = self._engine, engine
        self.settings = settings
        facts = facts_of(engine)
        log.info("ready: %s on %s, %s", facts.model, facts.device, facts.dtype)
        sentence = f"{said}{facts.model} was loaded again." if said else "Ready"
        self._end(state="ready", sentence=sentence, fraction=1.0, facts=facts, engines=self._status.engines + 1)
        if former is not None:
            self._close(former)
            del former
            give_back_memory()
        for talk in self.registry.live():
            talk.engine_is_here(engine)

    def _fail(self, loading: Loading, said: str) -> None:
        sentence, crowded = loading.why(), False
        if isinstance(loading.error, NoRoom) and not loading.cancelled:
            held = held_bytes(self._engine)
            sentence, crowded = loading.error.sentence(held), loading.error.helped_by(held)
        log.error("%s", sentence)
        state: Literal["ready", "failed"] = "failed" if self._engine is None else "ready"
        self._end(state=state, sentence=said + sentence, fraction=None, crowded=crowded)

    def _unload(self) -> Settings | None:
        """Let the running engine go. Returns the settings it was loaded with, None if there was none."""
        former, self._engine = self._engine, None
        if former is None:
            return None
        with self._lock:
            self._change(facts=None)
        self._close(former)
        del former
        give_back_memory()
        return self.settings

    def _close(self, former: Engine) -> None:
        try:
            self.registry.drop_chats()
            former.close()
        except Exception:
            log.exception("the former engine was not closed cleanly")

    def _withdraw(self) -> None:
        waiting = self.worker.withdraw(LINE)
        if waiting is not None:
            waiting()  # ends at once, for it looks at the flag first

    def _told(self, sentence: str, fraction: float | None) -> None:
        with self._lock:
            if self._loading is not None:
                self._change(sentence=sentence, fraction=fraction)

    def _end(self, **changes: object) -> None:
        """The load is over: in one step, so that nobody who sees the end is refused the next load."""
        with self._lock:
            self._loading = None
            self._change(since=None, **changes)

    def _change(self, **changes: object) -> None:
        self._status = replace(self._status, version=self._status.version + 1, **changes)  # type: ignore[arg-type]

    def _new_conversation(self, sid: str) -> Conversation:
        talk = Conversation(sid, self.worker, self._make_chat, self._check, self.keeper)
        with self._lock:
            self._talks.add(talk)
        return talk

    def _revive(self, sid: str) -> Conversation | None:
        return revived(sid, self.keeper, self._new_conversation, self.settings, self._engine)

    def _stop_turns(self) -> None:
        with self._lock:
            talks = list(self._talks)
        for talk in talks:
            talk.stop()

    def _make_chat(self) -> ChatSession:
        if self._engine is None:
            raise EngineError(self._status.sentence)
        return self._chat_of(self._engine)

    def _dispose(self, conversation: Conversation) -> None:
        conversation.stop()
        self.worker.submit("disposal", conversation.close)

    def _sweep(self) -> None:
        self.registry.sweep()
        self.keeper.sweep([talk.sid for talk in self.registry.live()])


def load_from_settings(settings: Settings, progress: Progress) -> Engine:
    """`engine.load_engine` with an operator's settings; raises `EngineError`."""
    from engine import load_engine
    from playground.models.threads import use_first_thread_count

    use_first_thread_count()
    return load_engine(
        settings.model,
        drafter=settings.drafter,
        draft_len=settings.draft_len,
        max_draft_len=settings.max_draft_len,
        device=settings.device,
        dtype=settings.dtype,
        max_ctx=settings.max_ctx or None,
        trust_remote_code=settings.trust_remote_code,
        slots=settings.slots,
        progress=progress,
    )


def chat_of(engine: Engine) -> ChatSession:
    """A new conversation on an engine."""
    from engine.chat import ChatSession

    return ChatSession(engine)
