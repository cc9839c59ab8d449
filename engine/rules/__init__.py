"""How tokens are chosen from the trunk's logits: one file per rule, the protocol, and what shapes a row."""

from engine.rules.coupled import CoupledRule
from engine.rules.greedy import GREEDY, GreedyRule
from engine.rules.protocol import Decision, DeviceChooser, DraftChooser, Drafts, Rule
from engine.rules.rejection import RejectionRule

__all__ = [
    "GREEDY",
    "CoupledRule",
    "Decision",
    "DeviceChooser",
    "DraftChooser",
    "Drafts",
    "GreedyRule",
    "RejectionRule",
    "Rule",
]
