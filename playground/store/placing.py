"""Where a path of messages belongs in a tree: what of it is there already, and what is new.

A message is the one that is there if role, text and ids agree; ids that one of the two does not know do not speak
against it. An answer that goes on is the same answer, longer: where the last message of what is shown is an answer
without anything behind it, and the new text begins with it, it grows in its place. Anything else is a new branch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from playground.store.values import Node, Said


def find(said: Said, among: Sequence[Node], shown: Collection[int]) -> Node | None:
    """The node of `among` that says `said`; of several the one with the same ids, then one that is shown."""
    fitting = [node for node in among if _same(node.said, said)]

    def rank(node: Node) -> tuple[bool, bool, int]:
        exact = said.tokens is not None and node.said.tokens == said.tokens
        return exact, node.id in shown, -node.id

    return max(fitting, key=rank, default=None)


def grown(said: Said, among: Sequence[Node], current: int | None) -> Node | None:
    """The node of `among` of which `said` is the continuation. The caller knows that nothing follows `current`."""
    for node in among:
        old = node.said
        if node.id == current and old.role == said.role == "assistant" and said.content.startswith(old.content):
            shorter, longer = sorted((old.tokens or (), said.tokens or ()), key=len)
            if longer[: len(shorter)] == shorter:
                return node
    return None


def merged(old: Said, new: Said) -> Said:
    """What is known of one message from two accounts of it, the newer first."""
    if new.tokens is None and new.content == old.content:
        new = replace(new, tokens=old.tokens, origins=old.origins, rest=old.rest)
    same = new.tokens == old.tokens
    return replace(
        new,
        origins=new.origins or (old.origins if same else ()),
        rest=new.rest or (old.rest if same and new.content == old.content else ""),
        checkpoint=new.checkpoint or old.checkpoint,
        drafting=new.drafting or old.drafting,
    )


def _same(old: Said, new: Said) -> bool:
    if (old.role, old.content) != (new.role, new.content):
        return False
    return old.tokens is None or new.tokens is None or old.tokens == new.tokens
