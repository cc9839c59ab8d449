"""A trace opened read-only: scrubbed and played in the page's own panels, each page for itself."""

from playground.replay.replays import Replays
from playground.replay.tab import ReplayTab, replay_bar, replay_talk

__all__ = ["ReplayTab", "Replays", "replay_bar", "replay_talk"]
