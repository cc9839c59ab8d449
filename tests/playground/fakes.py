"""A chat without a model, and all that stands behind it: same names, same events, an answer made of numbered words."""

from __future__ import annotations

from typing import Any

from engine import events as ev
from engine.chat.prompt import Answer
from engine.chat.rewind_targets import RewindTarget
from engine.chat.transcript import Exchange, Transcript
from engine.errors import SessionStateError
from engine.sampling import SamplingParams
from engine.telemetry import SpecTelemetry
from tests.playground.fake_answers import FakeAnswers, FakeDelta, FakeTurn, OnTokens
from tests.playground.fake_engine import EOS, WORDS, FakeEngine, FakeSession, FakeTokenizer, fake_check

__all__ = ["EOS", "WORDS", "FakeChat", "FakeEngine", "FakeSession", "FakeTokenizer", "fake_check"]


def transcript_of_texts(texts: list[str], system: str) -> Transcript:
    """Questions and answers in turn, answers as text alone."""
    pairs = [texts[at : at + 2] for at in range(0, len(texts), 2)]
    return Transcript(
        system or None,
        tuple(Exchange(pair[0], Answer((), pair[1], pair[1]) if pair[1:] else None) for pair in pairs),
    )


class FakeChat(FakeAnswers):
    """Answers word 1, 2, 3, ... after each message; every third draft or so is rejected."""

    def __init__(self, eng: FakeEngine) -> None:
        super().__init__(eng)
        self.fail: Exception | None = None
        self.system = ""
        self.stop: object = None
        self.sampling: SamplingParams | None = None
        self.verify: object = None
        self._asked: dict[int, int] = {}

    def clear(self) -> None:
        rows = len(self.session.committed)
        self.session.committed, self.session.pending_tok, self.session.points = [], None, []
        self.session.state, self.messages, self.can_continue, self.turn = "FRESH", [], False, None
        self.session.trace.append(ev.RewindEvent(turn=self._turn, start=rows, to=0, cause="clear", retained=()))

    @property
    def rewind_targets(self) -> list[RewindTarget]:
        return [RewindTarget(pos, self._asked[pos], "prompt") for pos in self.session.points]

    @property
    def transcript(self) -> Transcript:
        return transcript_of_texts([message["content"] for message in self.messages], self.system)

    def restore(self, transcript: Transcript) -> None:
        self.system = transcript.system or ""
        self.messages = [dict(m) for m in transcript.messages if m["role"] != "system"]
        self.turn, self.can_continue, self.session.points = None, transcript.waiting, []

    def set_system(self, text: str) -> None:
        self.system = text

    def rewind(self, pos: int) -> int:
        if pos not in self.session.points:
            raise SessionStateError(f"There is no rewind point at {pos}; there are {self.session.points}.")
        self._back(pos)
        self.messages = self.messages[: 2 * self._asked[pos] + 1]
        self.turn, self.can_continue = None, True
        return pos

    def regenerate(self, **options: Any) -> FakeTurn:
        question = len(self.messages) - 1 - (self.messages[-1]["role"] == "assistant")
        return self.edit(question // 2, self.messages[question]["content"], **options)

    def edit(self, turn: int, text: str, **options: Any) -> FakeTurn:
        self._back(next((pos for pos in self.session.points if self._asked[pos] == turn), 0))
        self.messages = self.messages[: 2 * turn]
        return self.send(text, **options)

    def _back(self, pos: int) -> None:
        s, rows = self.session, len(self.session.committed)
        s.committed, s.points = s.committed[:pos], [p for p in s.points if p <= pos]
        s.pending_tok, s.state, self._hidden = None, "PREDICTED", []
        cause: Any = "checkpoint" if pos else "prime"
        s.trace.append(ev.RewindEvent(turn=self._turn, start=rows, to=pos, cause=cause, retained=tuple(s.points)))

    def send(self, text: str, max_new: int = 256, on_tokens: OnTokens | None = None, **options: Any) -> FakeTurn:
        poll = on_tokens or (lambda delta: True)
        if self.fail is not None:
            error, self.fail = self.fail, None
            raise error
        ids, s = self.engine.tokenizer(text), self.session
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages.pop()
        self._settings(options)
        self._turn += 1
        before = len(s.committed)
        s.trace.append(
            ev.TurnEvent(
                turn=self._turn,
                decision="extend",
                prompt_tokens=before + len(ids),
                reused=before,
                common=before,
                history=before,
            )
        )
        for at in range(0, max(1, len(ids)), 64):
            if not poll(FakeDelta("", [], [])):
                s.committed = s.committed[:before]
                return FakeTurn("", [], [], [], "cancelled", before, SpecTelemetry(), 0.0)
            if at + 64 >= len(ids):
                self._left, self._hidden = self.engine.answer, []
                first = self._word()
            self._prefill(ids[at : at + 64], first if at + 64 >= len(ids) else None)
        s.points = [*s.points, len(s.committed)][-4:]
        self._asked[len(s.committed)] = len(self.messages) // 2
        s.trace.append(
            ev.CheckpointEvent(turn=self._turn, pos=len(s.committed), role="prompt", bytes=0, retained=tuple(s.points))
        )
        self.messages += [{"role": "user", "content": text}, {"role": "assistant", "content": ""}]
        s.pending_tok, s.state = first, "PENDING"
        s.numbers.first(first, len(s.committed), self._turn)
        poll(FakeDelta(self._show([first]), [first], ["first"]))
        return self._decode([first], ["first"], max_new, poll, **options)

    def continue_turn(self, max_new: int = 256, on_tokens: OnTokens | None = None, **options: Any) -> FakeTurn:
        if self.messages[-1]["role"] == "user":
            return self.regenerate(max_new=max_new, on_tokens=on_tokens, **options)
        poll = on_tokens or (lambda delta: True)
        self._settings(options)
        shown = self._hidden
        self._hidden = []
        poll(FakeDelta(self._show(shown), shown, ["draft"] * len(shown)))
        return self._decode(shown, ["draft"] * len(shown), max_new, poll, **options)

    def _settings(self, options: dict[str, Any]) -> None:
        self.stop, self.sampling, self.verify = (options.get(name) for name in ("stop", "sampling", "verify"))
        self.session.numbers.begin(self.sampling, self.verify, len(self.session.committed), self._turn)
