"""One sentence on each token of a round, for each reading level: what was tested, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine import events as ev
from playground.inspector.chances import chance_of, in_hundred, percent, row_at
from playground.names import public_name
from playground.panels.token_text import TokenTexts
from playground.step_words import Level, quoted

Fate = Literal["accepted", "rejected", "unread", "after-stop", "trimmed", "bonus", "correction", "plain"]


@dataclass(frozen=True)
class Speaker:
    """Says what became of the tokens of one round."""

    event: ev.RoundEvent
    texts: TokenTexts

    def draft(self, place: int, fate: Fate, level: Level) -> str:
        """Draft number `place`, counted from 0."""
        plain = level == "student"
        match fate:
            case "unread":
                behind = self.event.accepted + 1
                return (
                    f"It stood behind draft {behind}, which was rejected, so it was never looked at."
                    if plain
                    else f"Behind the rejection of draft {behind}: its row was computed for a context that is not "
                    "the text, and dropped."
                )
            case "after-stop":
                return "The answer had ended before it." if plain else "Behind an accepted stop token: it fell with it."
        said: Callable[[int, bool, Level], str] = {
            "greedy": self._greedy,
            "rejection": self._rejection,
            "coupled": self._coupled,
        }[self.event.mode]
        return said(place, fate != "rejected", level) + (self._trimmed(level) if fate == "trimmed" else "")

    def own(self, fate: Fate, level: Level) -> str:
        """The trunk's own token."""
        event, plain = self.event, level == "student"
        past = self._trimmed(level) if event.trimmed else ""
        if fate == "correction":
            return self.draft(event.accepted, "rejected", level) + past
        if fate == "plain":
            return self._plain(level) + past
        count = event.accepted
        if plain:
            all_of = "The only guess was" if count == 1 else f"All {count} guesses were"
            return f"{all_of} kept, so the model’s own next token came with them for free.{past}"
        how = "argmax" if event.mode == "greedy" else "a draw"
        return f"All {count} drafts accepted; {how} of the row behind the last one, from the same forward.{past}"

    def round(self, level: Level) -> str:
        """The round in one sentence."""
        event = self.event
        count, kept = len(event.drafted), min(event.accepted, event.emitted)
        emitted = f"{event.emitted} token{'s' * (event.emitted != 1)}"
        if level == "student":
            if not count:
                return "No guesses this time: one look of the model gave one token."
            return f"The drafter guessed {count}, {kept} held, and one look of the model gave {emitted}."
        drafts = f"{count} draft{'s' * (count != 1)}, {event.accepted} accepted" if count else "No drafts"
        return f"{drafts}; {emitted} emitted by one forward of width {event.width}."

    def _plain(self, level: Level) -> str:
        """A round without drafts."""
        none = self.event.drafter == "none"
        if level == "engineer":
            return f"No drafts ({public_name(self.event.drafter)}): one plain step of the trunk."
        return "No drafter is at work: " * none + (
            "the model wrote this token by itself."
            if none
            else "The drafter had no guess here, so the model wrote this token by itself."
        )

    def _greedy(self, place: int, kept: bool, level: Level) -> str:
        draft, row = self.event.drafted[place], row_at(self.event.trunk_top, place)
        chance = _in_brackets(chance_of(draft, row))
        if kept:
            if level == "engineer":
                return f"Accepted: the draft is the trunk’s argmax{chance}."
            return f"The drafter guessed {self._quote(draft)}; the model’s first choice is the same{chance}."
        own = self._own_id()
        ours = _in_brackets(chance_of(own, row))
        if level == "engineer":
            return f"Rejected: the argmax is {self._quote(own)}{ours}, the draft {self._quote(draft)}{chance}."
        return f"The model wanted {self._quote(own)}{ours} where the drafter had guessed {self._quote(draft)}{chance}."

    def _rejection(self, place: int, kept: bool, level: Level) -> str:
        event, draft = self.event, self.event.drafted[place]
        if place >= len(event.test_u):
            return "Its accept test is not in the trace."
        p, q, u = event.test_p[place], event.test_q[place], event.test_u[place]
        own = "" if kept or event.bonus is None else self._quote(event.bonus)
        if level == "engineer":
            rest = "" if kept else f"; {own} drawn from max(0, p − q), normalised" if own else ""
            sign = "<" if kept else "≥"
            return f"u·q = {u:.3g} × {q:.3g} = {u * q:.3g} {sign} p = {p:.3g}: {_verdict(kept)}{rest}."
        chance = min(1.0, p / q) if q > 0 else 1.0
        drafters = "" if q >= 1 else f", the drafter {percent(q)}"
        gave = f"The model gave {self._quote(draft)} a chance of {percent(p)}{drafters}."
        rule = f"Such a guess is kept {in_hundred(chance)}"
        if chance >= 1:
            return f"{gave} At least as likely for the model as for the drafter: such a guess is always kept."
        if kept:
            return f"{gave} {rule}, and this time the dice said yes."
        return f"{gave} {rule}; the dice said no" + (f", and the model drew {own} instead." if own else ".")

    def _coupled(self, place: int, kept: bool, level: Level) -> str:
        draft, own = self._quote(self.event.drafted[place]), self._quote(self._own_id())
        if level == "engineer":
            noise = f"the trunk’s draw with the noise of index {self.event.sctr + place}"
            return f"Accepted: {noise} is the draft." if kept else f"Rejected: {noise} is {own}, the draft {draft}."
        if kept:
            return f"The dice were thrown for this place beforehand; with them the model drew {draft}, as guessed."
        return f"The dice were thrown for this place beforehand; with them the model drew {own}, not {draft}."

    def _trimmed(self, level: Level) -> str:
        if level == "student":
            return " The answer had no room left for it, so it was let go."
        return " Past the budget: trimmed before the next forward."

    def _own_id(self) -> int:
        return -1 if self.event.bonus is None else self.event.bonus

    def _quote(self, token: int) -> str:
        """A token of blanks alone would look like nothing."""
        text = quoted(self.texts, [token])
        return text if text[1:-1].strip() else text.replace(" ", "␣")


def _verdict(kept: bool) -> str:
    return "accepted" if kept else "rejected"


def _in_brackets(chance: str) -> str:
    return f" ({chance})" if chance else ""
