"""Conversations by messages: `ChatSession` over one speculative session, with ids and text kept apart."""

from __future__ import annotations

from engine.chat.chat_session import ChatSession
from engine.chat.rewind_targets import RewindTarget
from engine.chat.turn import Turn
from engine.chat.turn_settings import TurnDelta

__all__ = ["ChatSession", "RewindTarget", "Turn", "TurnDelta"]
