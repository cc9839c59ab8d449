"""Reads a session's trace as an auditor would: which token was chosen where, under which settings, from which numbers.

Nothing here looks at the session; what it holds is compared with what the trace says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine import SamplingParams
from engine.events import (
    BurstEvent,
    DrawEvent,
    Event,
    Mode,
    OvershootEvent,
    PendingEvent,
    PrefillEvent,
    RewindEvent,
    RoundEvent,
    SamplingEvent,
)
from kernels.philox import Role

WHOLE = ("top_k", "penalty_last_n")
ANSWER = 2**20
"""In coupled mode each answer's indices begin at a multiple of this."""


@dataclass(frozen=True)
class Setting:
    """What tokens are chosen by."""

    mode: Mode = "greedy"
    params: SamplingParams = field(default=SamplingParams(temperature=0.0))

    @classmethod
    def of(cls, event: SamplingEvent) -> Setting:
        """As the trace tells it."""
        fields = {name: int(value) if name in WHOLE else value for name, value in event.settings}
        return cls(event.mode, SamplingParams(**fields, seed=event.seed))


@dataclass(frozen=True)
class Choice:
    """One emitted token."""

    place: str
    """`first`: of an answer; `again`: of an answer after a rewind; `resume`: drawn where a prediction stood; `kept`:
    drawn earlier and trimmed; `edge`: after a carried token, in a later burst; `unparked`: the same after a flush;
    `column`: any other with a draft in its column; `bonus`: after the last draft."""
    history: tuple[int, ...]
    """Every token before it."""
    token: int
    setting: Setting
    event: Event
    column: int = 0
    rejected: int | None = None
    """The draft that it replaced."""


class Account:
    """Follows one session by its events, burst by burst."""

    def __init__(self) -> None:
        self.setting = Setting()
        self.trimmed: tuple[int, ...] = ()
        self._begun = self._unparked = False

    def read(self, events: Iterable[Event], history: Sequence[int], *, suffix: bool) -> list[Choice]:
        """The tokens that one burst emitted after `history`, its suffix included."""
        self._begun = self._unparked = False
        text, out, first, kept = list(history), [], "first" if suffix else "again", self.trimmed[:1]
        for event in events:
            if isinstance(event, SamplingEvent):
                self.setting = Setting.of(event)
            elif isinstance(event, RewindEvent):
                self._unparked |= event.cause == "unpark"
            elif isinstance(event, PrefillEvent) and event.first is not None:
                out.append(Choice("first", tuple(text), event.first, self.setting, event))
                text.append(event.first)
            elif isinstance(event, PendingEvent) and event.transition == "promote":
                out.append(Choice("kept", tuple(text), event.token, self.setting, event))
                text.append(event.token)
            elif isinstance(event, DrawEvent):
                place = first if event.cause == "first" else "resume"
                assert out and out[-1].token == event.token, "a draw of a token that nobody was given"
                out[-1] = Choice(place, out[-1].history, event.token, self.setting, event)
            elif isinstance(event, RoundEvent):
                out += self._round(event, text)
                text += [choice.token for choice in out[-event.emitted :]]
            elif isinstance(event, OvershootEvent) and event.action == "trimmed":
                self.trimmed = event.tokens
            elif isinstance(event, BurstEvent):
                self._begun = False
            self._begun |= bool(out)
        if out and (out[0].place, self.setting.mode) == ("kept", "rejection"):
            assert (out[0].token,) == kept, "not the token that was drawn and trimmed"
        return out

    def _round(self, event: RoundEvent, text: list[int]) -> list[Choice]:
        assert (event.pos, event.pending) == (len(text) - 1, text[-1]), "a round of another history"
        assert event.mode == self.setting.mode
        tokens = [*event.drafted[: event.accepted], *([] if event.bonus is None else [event.bonus])]
        assert tuple(tokens[event.emitted :]) == event.trimmed
        out = []
        for column, token in enumerate(tokens[: event.emitted]):
            place = "bonus" if column == len(event.drafted) else "column"
            if not column and not self._begun:
                place = "unparked" if self._unparked else "edge"
            rejected = event.drafted[column] if column == event.accepted < len(event.drafted) else None
            history = (*text, *tokens[:column])
            out.append(Choice(place, history, token, self.setting, event, column, rejected))
        return out


def values_used(event: Event) -> list[tuple[str, Role, int]]:
    """(mode, role, value) of every number that an event says it used."""
    if isinstance(event, DrawEvent):
        role = Role.GUMBEL if event.mode == "coupled" else Role.TARGET_DRAW
        return [(event.mode, role, event.sctr)]
    if not isinstance(event, RoundEvent) or event.mode == "greedy":
        return []
    if event.mode == "coupled":
        return [("coupled", Role.GUMBEL, event.sctr + i) for i in range(event.draws)]
    last = event.bonus is not None
    drafts = event.draws - last
    assert drafts in (0, len(event.drafted)), "drafts are all drawn, or none is"
    used = [("rejection", Role.DRAFT_DRAW, event.sctr + i) for i in range(drafts)]
    used += [("rejection", Role.TARGET_DRAW, event.sctr + drafts)] if last else []
    return used + [("rejection", Role.ACCEPT, event.uctr + i) for i in range(len(event.test_u))]


def require_sound_counters(events: Sequence[Event], sctr: int, uctr: int) -> None:
    """The gate of the counters: the events continue one another, end where the session does, and share no value."""
    draws = tests = 0
    used: set[tuple[str, Role, int]] = set()
    for event in events:
        if not isinstance(event, DrawEvent | RoundEvent):
            continue
        if isinstance(event, DrawEvent) and event.mode == "coupled" and event.cause == "first":
            draws = -(-draws // ANSWER) * ANSWER
        assert event.sctr == draws, f"{event} does not begin where the last one ended, at {draws}"
        values = values_used(event)
        assert len(set(values)) == len(values) and not used & set(values), f"{event} uses a value again"
        used |= set(values)
        if isinstance(event, DrawEvent):
            draws += 1
            continue
        assert event.uctr == tests
        assert event.mode == "rejection" or not event.test_u, "only rejection tests"
        emitted = {"greedy": 0, "coupled": event.emitted}
        assert event.draws == emitted.get(event.mode, event.draws), "one index per emitted token"
        draws, tests = draws + event.draws, tests + len(event.test_u)
    assert (draws, tests) == (sctr, uctr), "the events do not add up to the session's counters"
