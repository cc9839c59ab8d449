"""What the models' views are told: the running engine, a load, whether speculation pays, and the curated pairs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from engine.checkpoints.memory import FreeMemory, free_memory
from engine.errors import EngineError
from playground.conversation import Conversation
from playground.models.allowed import Allowed
from playground.models.catalogue import Entry, entry_of, why
from playground.models.engine_status import memory_of
from playground.models.local import is_cached
from playground.models.machine import Machine, machine_of
from playground.models.outlook import fit_sentence
from playground.models.room import size_text
from playground.models.verdict import SpeedVerdict, speed_verdict
from playground.names import drafter_label, public_name

if TYPE_CHECKING:
    from playground.service import Service

LATEST = 2000
"""Events of a trace that a verdict is made from."""
READY = "Ready"
"""The status of a load that went well; anything else said of a running engine is why a load failed."""


def now_reading(service: Service, conversation: Conversation) -> dict[str, Any]:
    """The running engine and the load, as one visitor's view shows them."""
    status = service.status
    loading = status.state == "loading"
    verdict = _speed(service, conversation)
    return {
        "engines": status.engines,
        "state": status.state,
        "sentence": "" if status.sentence == READY else status.sentence,
        "fraction": status.fraction if loading else None,
        "elapsed": round(time.monotonic() - status.since, 1) if loading and status.since is not None else None,
        "running": _running(service),
        "speed": {"badge": verdict.badge, "sentence": verdict.sentence},
    }


def pair_rows(service: Service, allowed: Allowed, free: FreeMemory = free_memory) -> list[dict[str, Any]]:
    """The curated list, a dictionary a row."""
    try:
        machine = machine_of(service, free)
    except EngineError:
        return []
    return [_row(entry, service, machine) for entry in allowed.entries]


def _running(service: Service) -> dict[str, Any] | None:
    facts, engine = service.status.facts, service.engine
    if facts is None:
        return None
    memory = memory_of(engine)
    named = (("weights", "weights"), ("draft_weights", "draft model"), ("slots", "rows reserved"))
    return {
        "model": facts.model,
        "device": f"{facts.device}, {facts.dtype}",
        "context": f"{facts.max_ctx:,} tokens",
        "drafter": drafter_label(public_name(service.settings.drafter)),
        "memory": [f"{size_text(memory[key])} {word}" for key, word in named if memory.get(key)],
        "exactness": facts.verdict,
    }


def _speed(service: Service, conversation: Conversation) -> SpeedVerdict:
    chat = conversation.chat
    if chat is None:
        return speed_verdict(service.settings.drafter, ())
    session = chat.session
    latest = session.trace.since(session.trace.next_seq - LATEST)
    return speed_verdict(session.drafter.name, latest, draft_len=session.draft_len)


def _row(entry: Entry, service: Service, machine: Machine) -> dict[str, Any]:
    draft = entry_of(entry.draft_reference) if entry.draft_reference else None
    need = machine.need(entry.size, draft.size if draft else None)
    verdict = machine.judge(need)
    references = [entry.reference, *([entry.draft_reference] if entry.draft_reference else [])]
    hub = [reference for reference in references if reference != "default"]
    return {
        "key": entry.key,
        "name": entry.label,
        "reference": entry.reference,
        "params": params_text(entry.size.params),
        "weights": size_text(machine.item * entry.size.params),
        "dtype": {4: "float32"}.get(machine.item, "16 bits"),
        "licence": entry.licence,
        "gated": entry.gated,
        "drafter": "N-gram lookup" if draft is None else draft.label,
        "why": why(entry),
        "fit": verdict,
        "fits": fit_sentence(need, verdict, machine),
        "here": bool(hub) and all(is_cached(reference) for reference in hub),
        "running": service.engine is not None and service.settings.model == entry.reference,
    }


def params_text(count: int) -> str:
    """Parameters as their names have them: `135M`, `1.7B`."""
    return f"{count / 1e6:.0f}M" if count < 995e6 else f"{count / 1e9:.1f}B"
