"""Conversations that survive a restart: a tree of messages each, in one SQLite file in the user's data folder."""

from playground.store.branches import Branch, branches_of
from playground.store.errors import StoreError, StoreFull, StoreTooNew
from playground.store.paths import Begun
from playground.store.store import Store, open_store
from playground.store.values import Node, Said, Summary, Talk

__all__ = [
    "Begun",
    "Branch",
    "Node",
    "Said",
    "Store",
    "StoreError",
    "StoreFull",
    "StoreTooNew",
    "Summary",
    "Talk",
    "branches_of",
    "open_store",
]
