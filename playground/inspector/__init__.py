"""The token inspector: everything a trace knows about one round, or about one token that no round emitted.

The page asks when someone looks at a token; nothing of this is sent with the deltas of the panels.
"""

from playground.inspector.calls import inspector_functions

__all__ = ["inspector_functions"]
