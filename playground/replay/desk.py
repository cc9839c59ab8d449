"""Answers a page's script: files come in, replays are opened, moved and closed. Anyone may call, so nothing is trusted.

A question is a JSON text `{"sid": ..., "do": ...}`. An answer is a line of JSON, and where panels are to change a
second line with their delta, which is JSON text already. `{"error": sentence}` says what was refused, `{"over": true}`
that a replay is no more, and '' that the session is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playground.exchange.errors import ExchangeError
from playground.limits import Refused
from playground.race.wire import answer_of, question_of
from playground.registry import Registry
from playground.replay.facts import facts_of
from playground.replay.player import Answer, Player
from playground.replay.replays import Replays
from playground.replay.uploads import PIECE, Uploads

LONGEST_QUESTION = 2 * PIECE
"""Characters; a piece in base64 takes four for three bytes."""
Asked = dict[str, Any]


class Desk:
    """One for all pages."""

    def __init__(self, registry: Registry, replays: Replays | None = None) -> None:
        self._registry = registry
        self._uploads = Uploads()
        self.replays = Replays() if replays is None else replays

    def __call__(self, data: object) -> str:
        """The answer to one question."""
        asked = question_of(data, self._registry, longest=LONGEST_QUESTION)
        if asked is None:
            return ""
        files: dict[str, Callable[[Asked], Asked]] = {"begin": self._begin, "piece": self._piece, "open": self._open}
        do = str(asked.get("do"))
        try:
            if do in files:
                return answer_of(files[do](asked))
            if do == "close":
                self.replays.close(asked["sid"], asked.get("id"))
                return answer_of({})
            player = self.replays.get(asked["sid"], asked.get("id"))
            return answer_of({"over": True}) if player is None else _spoken(_moved(player, do, asked))
        except (Refused, ExchangeError) as known:
            return answer_of({"error": str(known)})

    def _begin(self, asked: Asked) -> Asked:
        return {"upload": self._uploads.begin(asked["sid"], asked.get("size")), "piece": PIECE}

    def _piece(self, asked: Asked) -> Asked:
        number, data = asked.get("number"), asked.get("data")
        return {"have": self._uploads.add(asked["sid"], asked.get("upload"), number, data)}

    def _open(self, asked: Asked) -> Asked:
        data = self._uploads.take(asked["sid"], asked.get("upload"))
        name, player = self.replays.open(asked["sid"], data)
        return {"id": name, "facts": facts_of(player.recording)}


def _moved(player: Player, do: str, asked: Asked) -> Answer:
    match do:
        case "go":
            return player.go(_whole(asked.get("to")))
        case "step":
            return player.step(_whole(asked.get("by")), str(asked.get("over")))
        case "play":
            return player.play(asked.get("on") is True, asked.get("speed"))
        case "tick":
            return player.tick()
    return player.look()


def _spoken(answer: Answer) -> str:
    return f"{answer_of(answer.where)}\n{answer.delta}"


def _whole(value: object) -> int:
    return value if type(value) is int and abs(value) < 2**31 else 0
