"""A tree of messages as branches: each message belongs to one, and each branch leaves another at one message.

The oldest message behind another goes on with its branch; every later one begins a new branch there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from playground.store.values import Said, Talk, short_line

LABEL_CHARS = 48


@dataclass(frozen=True)
class Branch:
    """One branch. `number` is its place in the list, from 0, which is the order in which the branches began."""

    number: int
    label: str
    """The beginning of its first question, or of its first answer where it has no question."""
    fork: int | None
    """The node that its first message follows; None at the beginning."""
    of: int | None
    """The number of the branch that `fork` belongs to."""
    nodes: tuple[int, ...]
    """Its messages, first to last; the last is what to switch to."""
    messages: int
    """Length of the path to its last message: what one would see."""
    created: float
    current: bool
    """Whether what is shown ends in this branch."""

    @property
    def leaf(self) -> int:
        """Its last message."""
        return self.nodes[-1]


def branches_of(talk: Talk) -> list[Branch]:
    """The branches of a conversation, oldest first."""
    by_id = {node.id: node for node in talk.nodes}
    behind: defaultdict[int | None, list[int]] = defaultdict(list)
    for node in talk.nodes:
        behind[node.parent].append(node.id)
    branch: dict[int | None, int] = {}
    depth: dict[int | None, int] = {None: 0}
    out: list[Branch] = []
    for head in talk.nodes:
        fork, number = head.parent, len(out)
        if fork is not None and behind[fork][0] == head.id:
            continue  # it goes on with a branch that has begun
        nodes = [head.id]
        while behind[nodes[-1]]:
            nodes.append(behind[nodes[-1]][0])
        for place, id_ in enumerate(nodes, start=depth[fork] + 1):
            branch[id_], depth[id_] = number, place
        out.append(
            Branch(
                number=number,
                label=_label([by_id[id_].said for id_ in nodes[:2]]),
                fork=fork,
                of=branch.get(fork),
                nodes=tuple(nodes),
                messages=depth[nodes[-1]],
                created=head.created,
                current=talk.current in nodes,
            )
        )
    return out


def _label(first: list[Said]) -> str:
    """An answer says little about a branch that goes on with a question of its own."""
    texts = [said.content for said in sorted(first, key=lambda said: said.role, reverse=True)]
    return next((line for line in (short_line(text, LABEL_CHARS) for text in texts) if line), "…")
