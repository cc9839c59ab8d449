"""What a page's controls allow: which buttons can be pressed, and what the lists have to choose from.

Gradio makes a component anew each time it is told whether it can be used, which ten times a second for ten of them
costs more than everything else that a page is shown. So the page is shown two short texts, and acts when they change:
its own script sets the buttons, and the lists, whose choices the server has to know, are asked for.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from playground.choices import Choices, choices_update, message_choices, point_choices
from playground.conversation import Conversation
from playground.said import questions
from playground.view import View

BUTTONS = ("send", "stop", "resume", "again", "check", "clear", "edit", "rewind")
"""In the order in which a text of buttons speaks of them."""
STAYS = "-"
NONE = STAYS.ljust(len(BUTTONS), "0")
"""For a page whose conversation is no more: nothing can be done with it, but what is sent says what to do instead."""
SET_BUTTONS = f"""
(text) => [...(text || "{STAYS * len(BUTTONS)}")].map((can) =>
  can === "{STAYS}" ? {{ __type__: "update" }} : {{ __type__: "update", interactive: can === "1" }})
"""
"""The buttons as their text says, by the page itself: an answer to a call would come late while much is drawn."""


class Lists(NamedTuple):
    """Updates of what there is to choose from."""

    number: Any
    """User messages to edit."""
    point: Any
    """Points to rewind to."""


class Permits(NamedTuple):
    """What a conversation's controls depend on."""

    running: bool
    can_continue: bool
    said: bool
    """Whether it has messages."""
    numbers: Choices
    """Its user messages."""
    points: Choices
    """Its rewind points."""

    @classmethod
    def of(cls, conversation: Conversation, view: View) -> Permits:
        """As the conversation stands, `view` of it already read."""
        numbers, points = message_choices(questions(view.messages)), point_choices(conversation.targets)
        return cls(view.running, view.can_continue, bool(view.messages), numbers, points)

    def buttons(self) -> str:
        """One character for each of `BUTTONS`: 1 if it can be pressed, 0 if not."""
        rest = not self.running
        can = {
            "send": rest,
            "stop": self.running,
            "resume": rest and self.can_continue,
            "again": rest and self.said,
            "check": rest and self.said,
            "clear": rest and self.said,
            "edit": rest and bool(self.numbers),
            "rewind": rest and bool(self.points),
        }
        return "".join("01"[can[name]] for name in BUTTONS)

    def lists(self) -> str:
        """A name for what there is to choose from."""
        return hashlib.blake2b(repr((self.numbers, self.points)).encode(), digest_size=8).hexdigest()

    def updates(self, before: Permits | None) -> Lists:
        """The lists, for a page that has those of `before`, or of another conversation."""
        return Lists(
            number=choices_update(self.numbers, changed=before is None or self.numbers != before.numbers),
            point=choices_update(self.points, changed=before is None or self.points != before.points),
        )
