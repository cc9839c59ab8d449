"""What a page's controls allow: which buttons can be pressed, and what the lists have to choose from.

Gradio makes a component anew each time it is told whether it can be used, which ten times a second for ten of them
costs more than everything else that a page is shown. So these change by a call of their own, and only when they do.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import gradio as gr

from playground.choices import Choices, choices_update, message_choices, point_choices
from playground.conversation import Conversation
from playground.said import questions
from playground.view import View

NOTICE = "watch('value', () => trigger('change'));"
"""Script of the element whose value names the state of the controls: its `change` asks for them."""


class Permits(NamedTuple):
    """Updates of the page's controls, in the order in which `page.py` lists them."""

    send: Any
    stop: Any
    resume: Any
    again: Any
    check: Any
    clear: Any
    number: Any
    edit: Any
    point: Any
    rewind: Any


class Allowed(NamedTuple):
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
    def of(cls, conversation: Conversation, view: View) -> Allowed:
        """As the conversation stands, `view` of it already read."""
        numbers, points = message_choices(questions(view.messages)), point_choices(conversation.targets)
        return cls(view.running, view.can_continue, bool(view.messages), numbers, points)

    def name(self, sid: str) -> str:
        """Another one for each state of the controls of conversation `sid`."""
        return hashlib.blake2b(repr((sid, *self)).encode(), digest_size=8).hexdigest()

    def permits(self, before: Allowed | None) -> Permits:
        """The updates for a page that has `before`, or that of another conversation."""
        rest = not self.running
        return Permits(
            send=_usable(rest),
            stop=_usable(self.running),
            resume=_usable(self.can_continue and rest),
            again=_usable(self.said and rest),
            check=_usable(self.said and rest),
            clear=_usable(self.said and rest),
            number=choices_update(self.numbers, changed=before is None or self.numbers != before.numbers),
            edit=_usable(bool(self.numbers) and rest),
            point=choices_update(self.points, changed=before is None or self.points != before.points),
            rewind=_usable(bool(self.points) and rest),
        )


def none() -> Permits:
    """For a page whose conversation is no more: what it shows stays to be read, and nothing can be done with it."""
    off, stays = _usable(False), gr.skip()
    return Permits(
        send=stays,  # it says what to do instead
        stop=off,
        resume=off,
        again=off,
        check=off,
        clear=off,
        number=stays,
        edit=off,
        point=stays,
        rewind=off,
    )


def _usable(can: bool) -> Any:
    return gr.update(interactive=can)
