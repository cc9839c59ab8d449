"""What a running turn reports to its conversation: text as it comes, each stage, the edge between two bursts; and where
it lets others have the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from playground.calls import Calls
from playground.drafter_choice import DrafterChoice
from playground.rate import Rate
from playground.stepping import Stepping
from playground.view import Phase, View
from playground.worker import Worker

if TYPE_CHECKING:
    from engine.chat import ChatSession, TurnDelta
    from engine.round import OnStage, Round, Stage


class TurnCallbacks:
    """Of one conversation; `chat` gives the `ChatSession` whose turn runs, `so_far` is told what it has said by now."""

    def __init__(
        self,
        calls: Calls,
        worker: Worker,
        stepping: Stepping,
        drafter: DrafterChoice,
        chat: Callable[[], ChatSession | None],
        so_far: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.rate = Rate()
        """Of the turn that runs, or ran last."""
        self._calls = calls
        self._worker = worker
        self._stepping = stepping
        self._drafter = drafter
        self._chat = chat
        self._so_far = so_far

    def begin(self) -> dict[str, Any]:
        """A turn begins: its keywords."""
        self.rate = Rate()
        observer: Callable[[], OnStage | None] = self._observer
        return {"on_tokens": self._on_tokens, "on_burst": self._between_bursts, "observer": observer}

    def _on_tokens(self, delta: TurnDelta) -> bool:
        def shown(view: View) -> dict[str, object]:
            self.rate.add(len(delta.tokens))
            messages = view.messages
            if delta.text:
                role, text = messages[-1]
                messages = (*messages[:-1], (role, text + delta.text))
            phase: Phase = "decoding" if delta.tokens or view.phase == "decoding" else "prefill"
            return {"messages": messages, "phase": phase, "tok_s": self.rate.recent() or view.tok_s}

        self._calls.revise(shown)
        if not self._calls.stopping and self._worker.due(self._places()):
            self._worker.give_way()
        return not self._calls.stopping

    def _places(self) -> int:
        """Sessions that can have cache rows at a time."""
        chat = self._chat()
        slots = None if chat is None else getattr(chat.engine, "slots", None)
        return 0 if slots is None else int(slots.count)

    def _observer(self) -> OnStage | None:
        return self._before_stage if self._stepping.watching else None

    def _before_stage(self, stage: Stage, step: Round) -> None:
        chat = self._chat()
        assert chat is not None
        self._stepping.before(stage, step, chat.engine.tokenizer)

    def _between_bursts(self) -> None:
        """Let the other conversations have a burst each, then put a change of drafter into effect."""
        self._so_far(self._calls.view.messages[-1][1])
        if not self._calls.stopping:
            self._worker.give_way()
        try:
            chat = self._chat()
            assert chat is not None
            self._drafter.apply(chat.session)
        except EngineError as error:
            self._calls.late = str(error)
