"""The typed events of a session's trace. Panels, exports and tests read these and nothing else.

An event is frozen, has a `kind`, and gets its `seq` (0, 1, 2, ... in a session's life) and `t` (seconds since
the session began) when the trace takes it. Token ids are plain ints; `pos` is always an index into
`committed` (the number of rows before the event, unless said otherwise); `turn` counts from 0 and is -1 before
the first turn; `burst` counts from 0 over the session's life.
"""

from engine.events.base import Alternatives, Event, Mode, Origin, Reason, State
from engine.events.choosing import DrawEvent, SamplingEvent
from engine.events.pending import FlushEvent, PendingEvent
from engine.events.rewinds import CheckpointEvent, RewindEvent
from engine.events.rounds import RoundEvent
from engine.events.session import CheckEvent, ContextEvent, DrafterEvent, ErrorEvent
from engine.events.turn import BurstEvent, OvershootEvent, PrefillEvent, TurnEvent

__all__ = [
    "Alternatives",
    "BurstEvent",
    "CheckEvent",
    "CheckpointEvent",
    "ContextEvent",
    "DrafterEvent",
    "DrawEvent",
    "ErrorEvent",
    "Event",
    "FlushEvent",
    "Mode",
    "Origin",
    "OvershootEvent",
    "PendingEvent",
    "PrefillEvent",
    "Reason",
    "RewindEvent",
    "RoundEvent",
    "SamplingEvent",
    "State",
    "TurnEvent",
]
