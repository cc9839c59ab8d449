"""What the page's controls do. Control events answer at once; one generator per page shows what comes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr

from playground.choices import point_choices
from playground.conversation import Conversation
from playground.following import following
from playground.limits import (
    OPTIONS,
    Refused,
    TurnOptions,
    check_message,
    check_options,
    check_position,
    stop_lines,
)
from playground.permits import Lists
from playground.race.wire import question_of
from playground.said import questions
from playground.sampling_labels import in_labels
from playground.sentences import PASSING
from playground.service import Service
from playground.shown_options import on_controls
from playground.trace_download import trace_download
from playground.viewer import Shown, full, gone

CHOOSE = "Choose a message first."
CHOOSE_POINT = "Choose a rewind point first."
FORGOTTEN = "The earlier conversation is no longer kept here, so this is a new one."


class Handlers:
    """Bound to one service; every method takes the tab's session id and trusts nothing that comes with it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def open(self, sid: str) -> tuple[Any, ...]:
        """A tab arrives, with its id or ''. Returns the id it has from now on, twice, a sentence, and its settings."""
        refusal = ""
        try:
            try:
                conversation = self._service.registry.open(sid)
            except Refused:
                conversation, refusal = self._service.registry.new(), FORGOTTEN
        except Refused as full:  # the tab keeps the id it has: there may be room for its conversation later
            return (sid, sid, str(full), *(gr.skip(),) * len(OPTIONS))
        if conversation.options is None:
            # A new one has the page's own settings: sending them would undo what was typed while the page was opening.
            controls: tuple[Any, ...] = (gr.skip(),) * len(OPTIONS)
        else:
            controls = on_controls(conversation.options)
        return (conversation.sid, conversation.sid, refusal, *controls)

    def open_chosen(self, event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        """The page leaves its conversation for the one with the event's `sid`, '' for a new one. Returns as `open`."""
        self._service.registry.page_left(str(request.session_hash))
        return self.open(str(getattr(event, "sid", "")))

    def open_new(self, request: gr.Request) -> tuple[Any, ...]:
        """The page leaves its conversation for a new one. Returns as `open`."""
        self._service.registry.page_left(str(request.session_hash))
        return self.open("")

    def send(self, message: str, sid: str, *options: object) -> tuple[str, str]:
        """Begin a turn. Returns the message box's new text and a refusal, or ''."""
        try:
            conversation = self._service.registry.get(sid)
            conversation.send(check_message(message), self._options(options))
        except Refused as refused:
            return message, str(refused)
        return "", ""

    def continue_turn(self, sid: str, *options: object) -> str:
        """Go on with the last answer. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).continue_turn(self._options(options))
        except Refused as refused:
            return str(refused)
        return ""

    def regenerate(self, sid: str, *options: object) -> str:
        """Answer the last message again. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).regenerate(self._options(options))
        except Refused as refused:
            return str(refused)
        return ""

    def choose_drafter(self, sid: str, *options: object) -> str:
        """Change drafter and K from the next burst on, of a running turn too. Returns a refusal, or ''."""
        try:
            chosen = self._options(options)
            self._service.registry.get(sid).choose_drafter(chosen.drafter, chosen.draft_len)
        except Refused as refused:
            return str(refused)
        return ""

    def load_message(self, number: object, sid: str) -> Any:
        """The text of user message `number`, as it was sent, for its box."""
        try:
            said = questions(self._service.registry.get(sid).view().messages)
        except Refused:
            said = []
        return said[number] if isinstance(number, int) and 0 <= number < len(said) else gr.skip()

    def edit(self, number: object, message: str, sid: str, *options: object) -> tuple[str, str]:
        """Send another user message `number`. Returns its box's new text and a refusal, or ''."""
        try:
            conversation = self._service.registry.get(sid)
            if not isinstance(number, int):
                raise Refused(CHOOSE)
            conversation.edit(number, check_message(message), self._options(options))
        except Refused as refused:
            return message, str(refused)
        return "", ""

    def rewind(self, pos: object, sid: str) -> str:
        """Go back to a rewind point. Returns a refusal, or ''."""
        try:
            conversation = self._service.registry.get(sid)
            if pos is None:
                raise Refused(CHOOSE_POINT)
            conversation.rewind(check_position(pos))
        except Refused as refused:
            return str(refused)
        return ""

    def choose_point(self, sid: str, event: gr.EventData) -> tuple[Any, Any, str]:
        """A rewind point was chosen in the panels, the event's `pos`. Returns the list with it selected, the section
        around it unfolded, and a refusal, or ''."""
        try:
            conversation = self._service.registry.get(sid)
            pos, targets = check_position(getattr(event, "pos", None)), conversation.targets
            if pos not in {target.pos for target in targets}:
                raise Refused(f"There is no rewind point at {pos} any more; choose one of the list under Go back.")
        except Refused as refused:
            return gr.skip(), gr.skip(), str(refused)
        return gr.update(choices=point_choices(targets), value=pos), gr.update(open=True), ""

    def check(self, sid: str) -> str:
        """Begin an exactness check. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).check()
        except Refused as refused:
            return str(refused)
        return ""

    def stop(self, sid: str) -> str:
        """Set the stop flag. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).stop()
        except Refused as refused:
            return str(refused)
        return ""

    def clear(self, sid: str) -> str:
        """Forget the conversation's messages. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).clear()
        except Refused as refused:
            return str(refused)
        return ""

    def give_back(self, sid: str) -> str:
        """Give the rows of the caches back. Returns a refusal, or ''."""
        try:
            self._service.registry.get(sid).give_back()
        except Refused as refused:
            return str(refused)
        return ""

    def settle(self, sid: str, message: str, refusal: object) -> tuple[Any, Any]:
        """After following: the message of a turn that never began returns to its box, in front of what was typed
        since, and a refusal that held only while something ran goes."""
        try:
            conversation = self._service.registry.get(sid)
        except Refused:
            return gr.skip(), gr.skip()
        unsent = conversation.take_unsent()
        over = refusal in PASSING and not conversation.view().running
        # What does not change is left alone: it may be newer in the page than what came with this call.
        box = "\n".join(part for part in (unsent, message) if part) if unsent else gr.skip()
        return box, "" if over else gr.skip()

    async def follow(self, sid: str, request: gr.Request, manner: object = "on") -> AsyncIterator[Shown]:
        """Show a conversation until nothing more will change, or `once`; a newer call of the same page takes over."""
        try:
            # On a thread: one that is brought back from the disk may have a long trace to read.
            conversation = await asyncio.to_thread(self._service.registry.get, sid)
        except Refused:  # deleted in another tab, say
            yield gone()
            return
        page = str(request.session_hash)
        # A call for the conversation that the page has just left may come late, and would show it over this one.
        self._service.registry.page_left(page, but=conversation)
        async for shown in following(self._service, conversation, page, once=manner == "once"):
            yield shown

    def lists(self, sid: str, request: gr.Request) -> Lists:
        """What a page has to choose from, where it differs from what the page was told."""
        try:
            watch = self._service.registry.get(sid).viewers.get(str(request.session_hash))
        except Refused:
            watch = None
        return Lists(gr.skip(), gr.skip()) if watch is None else watch.viewer.lists()

    def resync(self, data: object) -> str:
        """Everything a page's panels show, as JSON; '' for an id that is not known. Called by their script."""
        conversation = self._called(data)
        return "" if conversation is None else full(self._service, conversation)

    def news(self, data: object) -> int | None:
        """The version of a conversation, for a tab that looks idle; None for an id that is not known."""
        conversation = self._called(data)
        return None if conversation is None else conversation.view().version

    def trace_file(self, data: object) -> str:
        """A session's trace to take along, as `trace_download` gives it; '' for an id that is not known.

        Asked with the id, or with JSON: the id as `sid`, and whether the visitor's `messages` shall be in the file.
        """
        asked = question_of(data, self._service.registry) or {}
        conversation = self._called(asked.get("sid", data))
        if conversation is None:
            return ""
        return trace_download(self._service, conversation, messages=asked.get("messages") is True)

    def _called(self, data: object) -> Conversation | None:
        try:
            return self._service.registry.get(data[0] if isinstance(data, list) and data else data)
        except Refused:
            return None

    def _options(self, options: tuple[object, ...]) -> TurnOptions:
        given = dict(zip(OPTIONS, options, strict=True))
        given["stop"] = stop_lines(given["stop"])
        try:
            return check_options(settings=self._service.settings, **given)
        except Refused as refused:
            raise Refused(in_labels(str(refused))) from None


def default_options(service: Service) -> TurnOptions:
    """What a new conversation starts with."""
    return TurnOptions(drafter=service.settings.drafter, draft_len=service.settings.draft_len)
