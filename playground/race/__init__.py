"""The race: one prompt decoded plainly and speculatively, in turns, each on its own clock, shown side by side."""

from playground.race.tab import RaceTab

__all__ = ["RaceTab"]
