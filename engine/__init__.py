"""Draftscope's engine: speculative sessions over a Hugging Face checkpoint, usable from a script in five lines."""

from __future__ import annotations

# ruff: noqa: E402  # how threads wait is read when torch is imported, which the imports below do
from engine.threads import wait_asleep

wait_asleep()

from engine.burst import generate_spec_session
from engine.burst_run import Burst
from engine.chat import ChatSession, RewindTarget, Turn, TurnDelta
from engine.check import check_exact
from engine.engine import Engine
from engine.errors import CheckpointError, ContextFull, DrafterMismatch, EngineError, SessionStateError
from engine.flush import spec_flush_pending
from engine.loading import load_engine
from engine.rewind import spec_rewind_to_checkpoint
from engine.sampled_burst import generate_spec_session_sampled
from engine.sampling import SamplingParams
from engine.session import SpecSession
from engine.telemetry import SpecTelemetry

__all__ = [
    "Burst",
    "ChatSession",
    "CheckpointError",
    "ContextFull",
    "DrafterMismatch",
    "Engine",
    "EngineError",
    "RewindTarget",
    "SamplingParams",
    "SessionStateError",
    "SpecSession",
    "SpecTelemetry",
    "Turn",
    "TurnDelta",
    "check_exact",
    "generate_spec_session",
    "generate_spec_session_sampled",
    "load_engine",
    "spec_flush_pending",
    "spec_rewind_to_checkpoint",
]
