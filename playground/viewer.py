"""What a page shows of a conversation: one reading of it turned into the values of the page's outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gradio as gr
from gradio.components.chatbot import Message as ChatbotMessage
from gradio.components.chatbot import TextMessage

from playground.conversation import Conversation
from playground.names import public_name
from playground.occupancy import occupancy_of
from playground.panels import LiveStatus
from playground.panels.status import Phase
from playground.permits import NONE, Lists, Permits
from playground.said import questions
from playground.sentences import NO_MORE
from playground.service import Service
from playground.status import engine_line, gauge, status_line
from playground.stream import DeltaStream
from playground.text import inert
from playground.view import Message, View
from playground.wait_words import WaitWords

PHASES: dict[str, Phase] = {
    "idle": "idle",
    "waiting": "prefill",
    "prefill": "prefill",
    "decoding": "decoding",
    "checking": "idle",
}
"""A conversation's phases as the panels know them: they show rounds, and a check has none."""


class Shown(NamedTuple):
    """The page's outputs, in the order in which `page.py` lists them and the form in which Gradio keeps them."""

    chat: list[dict[str, Any]]
    panels: str
    status: str
    engine: str
    gauge: str
    buttons: str
    """Which of `permits.BUTTONS` can be pressed; the page's script sets them when this changes."""
    lists: str
    """Names what there is to choose from; the page asks for it when the name changes."""


def gone() -> Shown:
    """For a page whose conversation is no more: what it shows stays to be read, and nothing can be done with it."""
    stays: Any = gr.skip()
    return Shown(*(stays,) * len(Shown._fields))._replace(status=NO_MORE, buttons=NONE)


class Mark(NamedTuple):
    """What a page's outputs depend on."""

    version: int
    """Of the conversation's view."""
    engine: int
    """Version of the engine's status."""
    ahead: int
    """Jobs before its own in the line."""
    about: str
    """How long that will take, in words, or ''."""


@dataclass
class Watch:
    """A page's viewer, which knows what the page has, and the call that serves it now; an older call gives way."""

    viewer: Viewer
    call: object


class Viewer:
    """One page's reading of one conversation; sends its panels only what they do not have yet."""

    def __init__(self, service: Service, conversation: Conversation) -> None:
        self._service = service
        self._conversation = conversation
        self._stream: DeltaStream | None = None
        self._number = 0
        self._panels = ""
        self._known: list[tuple[Message, dict[str, Any]]] = []
        self._permits: Permits | None = None
        self._calls = 0
        self._words = WaitWords()

    def begin(self) -> None:
        """A call begins to follow: the page asks for its lists anew, for an earlier answer may have been lost."""
        self._calls += 1

    def mark(self) -> Mark:
        """Changes whenever `show` would show something else."""
        wait = self._service.worker.wait_of(self._conversation.sid)
        return Mark(self._conversation.view().version, self._service.status.version, wait.ahead, self._words(wait))

    def done(self) -> bool:
        """Whether nothing will change until someone asks for something."""
        return not self._conversation.view().running and self._service.status.state != "loading"

    def show(self) -> Iterator[Shown]:
        """The present values of the outputs; more than once when the panels need several deltas to catch up."""
        mark, view, engine = self.mark(), self._conversation.view(), self._service.status
        status = live_status(self._service, self._conversation, view)
        permits = Permits.of(self._conversation, view)
        shown = Shown(
            chat=self._said(view.messages),
            panels=self._panels,
            status=status_line(view, engine, mark.ahead, self._conversation.stepping.level, mark.about),
            engine=engine_line(engine),
            gauge=gauge(status.committed, status.max_ctx),
            buttons=permits.buttons(),
            lists=f"{self._conversation.sid} {self._calls} {permits.lists()}",
        )
        for panels in self._catch_up(mark, status) or [self._panels]:
            self._panels = panels
            yield shown._replace(panels=panels)

    def lists(self) -> Lists:
        """What there is to choose from now; what the page has already is left alone, for something may be chosen."""
        before, self._permits = self._permits, Permits.of(self._conversation, self._conversation.view())
        return self._permits.updates(before)

    def _said(self, messages: tuple[Message, ...]) -> list[dict[str, Any]]:
        # Only what has changed is read again: a long chat costs no more per tick than its last message.
        same = 0
        while same < min(len(messages), len(self._known)) and self._known[same][0] == messages[same]:
            same += 1
        fresh = [((role, text), shown_message(role, inert(text))) for role, text in messages[same:]]
        self._known = [*self._known[:same], *fresh]
        return [shown for _, shown in self._known]

    def _catch_up(self, mark: Mark, status: LiveStatus) -> list[str]:
        stream = stream_of(self._service, self._conversation)
        if stream is None:
            return []
        if stream is not self._stream:
            self._stream, self._number = stream, 0
        stream.pump(mark, lambda: status)
        fresh = list(stream.after(self._number, lambda: status))
        if fresh:
            self._number = fresh[-1][0]
        return [text for _, text in fresh]


def full(service: Service, conversation: Conversation) -> str:
    """Everything the panels show, for a page that missed a delta; '' before an engine runs."""
    stream = stream_of(service, conversation)
    status = live_status(service, conversation, conversation.view())
    return "" if stream is None else stream.full(lambda: status)


def stream_of(service: Service, conversation: Conversation) -> DeltaStream | None:
    """The conversation's stream, made anew when another trace begins; None before an engine runs."""
    engine, trace, stream = service.engine, conversation.trace, conversation.stream
    if engine is None:
        return None
    if stream is None or (stream.trace is not None and stream.trace is not trace):
        record = conversation.record
        texts = engine.tokenizer if record is None or record.fits(engine) else record.texts
        stream = conversation.stream = DeltaStream(conversation.sid, texts, trace)
    stream.trace = trace
    return stream


def shown_message(role: str, text: str) -> dict[str, Any]:
    """A message as `gr.Chatbot` keeps it; `text` is Markdown."""
    return dict(ChatbotMessage(role=role, content=[TextMessage(text=text)]).model_dump())


def live_status(service: Service, conversation: Conversation, view: View) -> LiveStatus:
    """The readings that no event carries."""
    facts, settings = service.status.facts, service.settings
    loading = service.status.state == "loading" and facts is None
    phase: Phase = "loading" if loading else PHASES[view.phase]
    answering = view.running and view.phase != "checking"
    chat = conversation.chat
    if chat is None:
        record = conversation.record
        return replace(
            LiveStatus() if record is None else record.status,
            running=answering,
            version=view.version,
            phase=phase,
            max_ctx=facts.max_ctx if facts else 0,
            drafter=public_name(settings.drafter),
            draft_len=settings.draft_len,
            can_continue=view.can_continue,
            elsewhere=conversation.elsewhere,
        )
    session = chat.session
    return LiveStatus(
        running=answering,
        version=view.version,
        phase=phase,
        tok_s=view.tok_s or 0.0,
        state=session.state,
        committed=len(session.committed),
        max_ctx=session.cache_max_ctx(),
        pending=session.pending_tok,
        rewind_points=tuple(session.rewind_points()),
        drafter=public_name(session.drafter.name),
        draft_len=session.draft_len,
        can_continue=view.can_continue,
        elsewhere=conversation.elsewhere,
        hidden_overshoot=len(chat.turn.hidden) if chat.turn is not None and not view.running else 0,
        occupancy=occupancy_of(session, len(questions(view.messages))),
    )
