"""The engine behind the page: loaded in the background, replaced only by one that loaded, shared by conversations."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.errors import EngineError
from playground.conversation import Conversation
from playground.exactness import Check, OneAtATime, check_session
from playground.registry import Registry
from playground.sentences import UNEXPECTED
from playground.settings import Settings
from playground.worker import Worker

if TYPE_CHECKING:
    from engine import Engine
    from engine.chat import ChatSession

Progress = Callable[[str, float | None], None]
Load = Callable[[Settings, Progress], "Engine"]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineStatus:
    """What the page says about the engine. `version` changes with every change."""

    state: Literal["loading", "ready", "failed"]
    sentence: str
    fraction: float | None = None
    version: int = 0
    facts: EngineFacts | None = None


@dataclass(frozen=True)
class EngineFacts:
    """The running engine in words."""

    model: str
    device: str
    dtype: str
    max_ctx: int
    width: int
    verdict: str


class Service:
    """Owns the worker, the registry and the engine. What needs a model is passed in, so that tests need none."""

    def __init__(
        self, settings: Settings, load: Load, chat_of: Callable[[Engine], ChatSession], check: Check = check_session
    ) -> None:
        self.settings = settings
        self._load = load
        self._chat_of = chat_of
        self._check = OneAtATime(check)
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._status = EngineStatus("loading", "Starting the engine")
        self._settled = threading.Event()
        self.worker = Worker(idle=self._sweep)
        self.registry = Registry(self._new_conversation, self._dispose)

    @property
    def engine(self) -> Engine | None:
        """The running engine; None until one has loaded."""
        return self._engine

    @property
    def status(self) -> EngineStatus:
        """The present status."""
        return self._status

    def start(self, settings: Settings | None = None) -> None:
        """Load an engine on the worker. A running one stays until the new one is ready, and if that fails."""
        wanted = settings or self.settings
        self._settled.clear()
        self._set(state="loading", sentence=f"Loading {wanted.model}", fraction=None)
        self.worker.submit("engine", lambda: self._load_now(wanted), alone=True)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the last load has ended, well or not. False on time-out."""
        return self._settled.wait(timeout)

    def close(self) -> None:
        """Stop every turn, then the worker, then the engine."""
        self.registry.close()
        self.worker.close()
        if self._engine is not None:
            self._engine.close()

    def _load_now(self, settings: Settings) -> None:
        try:
            engine = self._load(settings, lambda sentence, part: self._set(sentence=sentence, fraction=part))
        except EngineError as error:
            self._failed(str(error))
        except Exception:
            log.exception("loading %s failed", settings.model)
            self._failed(UNEXPECTED)
        else:
            self._replace(engine, settings)
        finally:
            self._settled.set()

    def _replace(self, engine: Engine, settings: Settings) -> None:
        former, self._engine = self._engine, engine
        self.settings = settings
        facts = facts_of(engine)
        log.info("ready: %s on %s, %s", facts.model, facts.device, facts.dtype)
        self._set(state="ready", sentence="Ready", fraction=1.0, facts=facts)
        if former is not None:
            self.registry.drop_chats()
            former.close()

    def _failed(self, sentence: str) -> None:
        log.error("%s", sentence)
        state: Literal["ready", "failed"] = "failed" if self._engine is None else "ready"
        self._set(state=state, sentence=sentence, fraction=None)

    def _set(self, **changes: object) -> None:
        with self._lock:
            self._status = replace(self._status, version=self._status.version + 1, **changes)  # type: ignore[arg-type]

    def _new_conversation(self, sid: str) -> Conversation:
        return Conversation(sid, self.worker, self._make_chat, self._check)

    def _make_chat(self) -> ChatSession:
        if self._engine is None:
            raise EngineError(self._status.sentence)
        return self._chat_of(self._engine)

    def _dispose(self, conversation: Conversation) -> None:
        conversation.stop()
        self.worker.submit("disposal", conversation.close)

    def _sweep(self) -> None:
        self.registry.sweep()


def facts_of(engine: Engine) -> EngineFacts:
    """The engine in words."""
    return EngineFacts(
        model=str(engine.checkpoint.id),
        device=str(engine.trunk.device),
        dtype=str(engine.trunk.dtype).removeprefix("torch."),
        max_ctx=engine.max_ctx,
        width=engine.width,
        verdict=str(engine.verdict),
    )


def load_from_settings(settings: Settings, progress: Progress) -> Engine:
    """`engine.load_engine` with an operator's settings; raises `EngineError`."""
    from engine import load_engine

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
