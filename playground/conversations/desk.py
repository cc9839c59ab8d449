"""What the list of conversations asks the server, one method for each: read, find, name, move, delete, take along.

Whoever knows a conversation's id may do anything with it, as in the registry. So where others can reach the app, a
list holds only the ids that the browser itself names; where there is one owner it holds all.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from playground.conversations.files import file_of, talk_of
from playground.conversations.tree import tree_of
from playground.exchange.errors import ExchangeError
from playground.keeper import DELETED_S
from playground.limits import Refused
from playground.names import short_reference
from playground.reach import reachable_by_others
from playground.settings import KEEP_NOTHING
from playground.store import StoreError, Summary, Talk

if TYPE_CHECKING:
    from playground.service import Service

MOST_OWN = 200
"""Ids that a browser may name."""
LISTED = 100
SWITCH_S = 5.0
"""How long an answer waits for a branch to be shown: others may be using the engine."""
NOTHING_YET = "Nothing of this conversation is kept yet; send a message first."
ON_DISK = "Kept on this machine, for its user alone."
ON_SERVER = "Kept on this server; only who has a conversation's id can open it, and this list shows this browser’s own."
IN_MEMORY = (
    "Nothing is written to this server’s disk: a conversation is forgotten two hours after its last change, or when "
    "the server restarts. Download what you want to keep."
)
OFF = "Nothing is written to the disk (--data off): conversations last until the app ends. Download what you want."


class Desk:
    """Each method takes what the page asked and returns what to answer. They raise `StoreError`, `ExchangeError` and
    `Refused` with one sentence, and then nothing has changed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shared = reachable_by_others(service.settings)
        self._off = service.settings.data == KEEP_NOTHING

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked; an object with `error` where that cannot be done."""
        doing: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "look": self.look,
            "rename": self.rename,
            "delete": self.delete,
            "restore": self.restore,
            "forget": self.forget,
            "switch": self.switch,
            "export": self.export,
            "import": self.take,
        }
        do = doing.get(str(asked.get("do")))
        try:
            return {"error": "That is not known here."} if do is None else do(asked)
        except (StoreError, ExchangeError, Refused) as known:
            return {"error": str(known)}

    def look(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The list, narrowed by `search` to what contains it, and the conversation that is shown."""
        search, own = asked.get("search", ""), self._own(asked)
        store = self._service.keeper.store
        self._service.registry.keep_alive(own)
        lines = store.list_conversations(own, all=not self._shared, search=search, limit=LISTED + 1)
        return {
            "lines": [self._line(line, asked["sid"]) for line in lines[:LISTED]],
            "more": len(lines) > LISTED,
            "note": self._note(asked["sid"]),
            "own": self._shared,
            "shown": self._shown(asked["sid"]),
        }

    def rename(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Give the conversation `id` another `name`; '' takes it away."""
        sid = self._kept(asked)
        self._service.keeper.store.rename(sid, asked.get("name"))  # type: ignore[arg-type]  # it checks
        return self.look(asked) | {"said": f"Renamed: “{self._service.keeper.store.summary_of(sid).title}”."}

    def delete(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Put the conversation `id` away with all its branches, for a while; a turn of it that runs is stopped."""
        sid, store = self._kept(asked), self._service.keeper.store
        title = store.summary_of(sid).title
        store.put_away(sid)  # first, so that nobody brings it back to life in between
        self._service.registry.drop(sid)
        told = {"said": f"Deleted: “{title}”.", "deleted": {"id": sid, "title": title, "seconds": DELETED_S}}
        return {"gone": True} | told if sid == asked["sid"] else self.look(asked) | told

    def restore(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Undo the deletion of `id`, which is answered as `restored`."""
        sid, store = str(asked.get("id")), self._service.keeper.store
        store.bring_back(sid)
        return self.look(asked) | {"restored": sid, "said": f"Back again: “{store.summary_of(sid).title}”."}

    def forget(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Forget the conversation `id` for good; one that was deleted needs no more waiting then."""
        sid = str(asked.get("id"))
        self._service.keeper.store.delete(sid)
        self._service.registry.drop(sid)
        return self.look(asked) | {"said": "Gone for good, with all its branches."}

    def switch(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Show the branch that ends with the message `node`."""
        talk = self._service.registry.get(asked["sid"])
        node = asked.get("node")
        if type(node) is not int:
            raise StoreError("The conversation has no such branch; open it again from the list.")
        try:
            talk.show_branch(node, self._service.engine).result(SWITCH_S)  # the status line says what it costs
        except TimeoutError:
            return self.look(asked) | {"said": "The branch is shown as soon as the engine is free."}
        return self.look(asked)

    def export(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The conversation `id` as a file in the form `json` or `markdown`."""
        return dict(file_of(self._load(self._kept(asked)), asked.get("form")))

    def take(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Keep the conversation of a file under a new id, which is answered as `open`."""
        engine = self._service.engine
        talk = talk_of(asked.get("file"), "" if engine is None else str(engine.checkpoint.id))
        sid = secrets.token_hex(16)
        self._service.keeper.add(sid, talk)
        return {"open": sid, "said": f"Opened from the file: “{talk.title}”."}

    def _own(self, asked: dict[str, Any]) -> list[str]:
        named = asked.get("own")
        own = [sid for sid in named if isinstance(sid, str)] if isinstance(named, list) else []
        return [asked["sid"], *own[:MOST_OWN]]

    def _kept(self, asked: dict[str, Any]) -> str:
        sid = asked.get("id", asked["sid"])
        if sid == asked["sid"] and sid not in self._service.keeper.store:
            raise StoreError(NOTHING_YET)
        return str(sid)

    def _load(self, sid: str) -> Talk:
        return self._service.keeper.store.load(sid)

    def _shown(self, sid: str) -> dict[str, Any] | None:
        if sid not in self._service.keeper.store:
            return None
        talk = self._load(sid)
        return {"title": talk.title, "name": talk.name, "branches": tree_of(talk)}

    def _line(self, line: Summary, shown: str) -> dict[str, Any]:
        return {
            "id": line.sid,
            "title": line.title,
            "name": line.name,
            "when": line.updated,
            "turns": line.answers,
            "model": short_reference(line.checkpoint),
            "here": line.sid == shown,
        }

    def _note(self, shown: str) -> str:
        keeper, unkept = self._service.keeper, self._service.registry.get(shown).view().unkept
        if keeper.on_disk:
            note = ON_SERVER if self._shared else ON_DISK
        else:
            note = OFF if self._off else IN_MEMORY
        return " ".join(part for part in (keeper.notice, keeper.full or unkept, note) if part)
