"""The sweep: chosen drafters at chosen draft lengths over a set of prompts, measured beside plain decoding."""

from playground.sweep.tab import SweepTab

__all__ = ["SweepTab"]
