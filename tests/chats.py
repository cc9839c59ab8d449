"""For tests of conversations: callbacks, agreement of all that shows one, and a model that is told what to say."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from engine.chat import ChatSession, TurnDelta
from engine.events import Event, FlushEvent, PrefillEvent, RoundEvent
from engine.trunk import TrunkOut
from playground.panels.tokens_model import TokensModel
from tests.factories import CHATML
from tests.scripts import GarbageDrafter

if TYPE_CHECKING:
    import pytest

    from engine import Engine

HEADER = "<|im_start|>assistant\n"
THINKING = CHATML.replace(
    "message['content']",
    "(message['content'].split('</think>')[-1].lstrip('\n') if message['role'] == 'assistant' else message['content'])",
)
"""Earlier answers lose their thinking."""
OPEN_THINKING = THINKING.replace("{{ '<|im_start|>assistant\n' }}", "{{ '<|im_start|>assistant\n<think>\n' }}")
"""The live header opens the thinking, so an answer begins inside of it; earlier turns have no such header."""
EMPTY_THINKING = THINKING.replace(
    "{{ '<|im_start|>assistant\n' }}", "{{ '<|im_start|>assistant\n<think>\n\n</think>\n\n' }}"
)
"""The live header has an empty thinking block; earlier turns have none."""


def chat_with(engine: Engine, drafter: Any = "ngram", k: int = 7, system: str | None = None) -> ChatSession:
    chat = ChatSession(engine, system)
    chat.session.set_drafter(drafter, k)
    return chat


def garbage(vocab: int, truth: Any, seed: int = 0, right: float = 0.9) -> GarbageDrafter:
    return GarbageDrafter(vocab, seed=seed, right=right, truth=truth)


def collect(into: list[TurnDelta]) -> Callable[[TurnDelta], bool]:
    """An `on_tokens` that keeps every delta."""

    def take(delta: TurnDelta) -> bool:
        into.append(delta)
        return True

    return take


def refuse_poll(number: int) -> Callable[[TurnDelta], bool]:
    """An `on_tokens` that says no when called for the `number`th time."""
    calls = itertools.count(1)
    return lambda delta: next(calls) != number


def last(chat: ChatSession, kind: type[Event]) -> Any:
    return chat.session.trace.of(kind)[-1]


def forwards(chat: ChatSession) -> int:
    """Forwards that the trace tells of."""
    return sum(isinstance(event, (RoundEvent, PrefillEvent, FlushEvent)) for event in chat.session.trace)


def agree(chat: ChatSession) -> None:
    """Messages, ids, caches, the last turn and the panel that reads the trace all say the same."""
    session, tokenizer = chat.session, chat.engine.tokenizer
    assert session.slot is None or session.cache_len() == len(session.committed)
    session.check_invariants()
    panel = TokensModel()
    for event in session.trace:
        panel.take(event)
    if chat.turn is None or chat._talk.waiting:
        assert (panel.visible, panel.hidden) == ([], [])
        return
    if not chat._last._live:  # a turn was stopped after it had dropped rows: the messages outlive them
        assert len(session.history) < chat._last._end and not chat.can_continue
        return
    answer, turn = chat._talk.last_answer, chat.turn
    assert panel.visible == list(answer.ids)
    assert panel.hidden == turn.hidden
    assert session.history[turn.start :] == turn.tokens + turn.hidden
    shown = session.history[: turn.start] + turn.tokens
    assert shown[len(shown) - len(answer.ids) :] == list(answer.ids)
    assert len(turn.tokens) == len(turn.origin)
    decoded = tokenizer.decode(list(answer.ids), skip_special_tokens=True) + answer.rest
    assert chat.messages[-1]["content"] == answer.text
    assert decoded.startswith(answer.text)
    held = chat._last.held if chat.can_continue else ""
    assert decoded[len(answer.text) :] in (held, held + "\ufffd"), "only what may follow waits, half a character too"


class Told:
    """Makes a model answer each message with given text: its rows are real, its choices are not.

    `answers` maps a user message to the text that follows `header` there; an end of turn follows the text.
    """

    def __init__(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, str], header: str = HEADER
    ) -> None:
        encode = engine.tokenizer.encode
        end = engine.tokenizer.convert_tokens_to_ids("<|im_end|>")
        self._tokenizer = engine.tokenizer
        self._mark = encode(HEADER, add_special_tokens=False)
        self._header = encode(header, add_special_tokens=False)
        self._answers = {q: [*encode(a, add_special_tokens=False), end] for q, a in answers.items()}
        self._end = end
        self._rows: dict[int, list[int]] = {}
        self._forward = engine.trunk.forward
        monkeypatch.setattr(engine.trunk, "forward", self._told)

    def ids(self, question: str) -> list[int]:
        """The whole answer, end of turn included."""
        return self._answers[question]

    def _told(self, slot: Any, start: int, tokens: Sequence[int], width: int, keep: Sequence[int] = ()) -> TrunkOut:
        out = self._forward(slot, start, tokens, width, keep=keep)
        rows = self._rows.setdefault(id(slot), [])
        rows[start:] = tokens
        logits = torch.zeros_like(out.logits)
        for line, column in enumerate(keep):
            logits[line, self._next(rows[: start + column + 1])] = 1.0
        return TrunkOut(logits, out.hidden)

    def _next(self, history: list[int]) -> int:
        starts = [i for i in range(len(history)) if history[i : i + len(self._mark)] == self._mark]
        if not starts:
            return self._end
        before = self._tokenizer.decode(history[: starts[-1]])
        question = before.rsplit("<|im_start|>user\n", 1)[1].split("<|im_end|>")[0]
        at = len(history) - starts[-1] - len(self._header)
        answer = self._answers.get(question, [])
        return answer[at] if 0 <= at < len(answer) else self._end
