"""The whole page on an engine whose every token is a text of the evil corpus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.playground.conftest import RunningApp, running
from tests.playground.evil_corpus import WORDS
from tests.playground.fakes import EOS, FakeChat
from tests.playground.measuring_fakes import FakeDecoder, MeasuredEngine


class EvilTokenizer:
    """Id 10 is the first text, and so on, over and over."""

    def decode(self, token_ids: list[int], **options: Any) -> str:
        return "".join("" if i == EOS else WORDS[(i - 10) % len(WORDS)] for i in token_ids)

    def convert_ids_to_tokens(self, ids: int) -> str:
        return "<eos>" if ids == EOS else WORDS[(ids - 10) % len(WORDS)]

    def __call__(self, text: str) -> list[int]:
        return list(range(10, 10 + len(text.split())))


class EvilEngine(MeasuredEngine):
    """Answers one word a message, until told to say more."""

    def __init__(self) -> None:
        super().__init__(answer=1)
        self.checkpoint.tokenizer = self.tokenizer = EvilTokenizer()  # type: ignore[assignment]
        self.checkpoint.id = "evil/<img src=x onerror=window.evil=1>"
        self.verdict = "Exact: <b onclick=window.evil=1>rows</b> of ${window.evil=1} {{window.evil=1}}."


class EvilChat(FakeChat):
    """Says the texts in their order."""

    said = -1

    def _word(self) -> int:
        self._left -= 1
        if self._left < 0:
            return EOS
        self.said += 1
        return 10 + self.said % len(WORDS)


@contextmanager
def evil_app(folder: Path) -> Iterator[RunningApp]:
    """Race and sweep decode with it too; what the page keeps lies in `folder`."""
    from playground.race.tab import RaceTab
    from playground.sweep.tab import SweepTab

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("playground.page.RaceTab", lambda service: RaceTab(service, FakeDecoder()))
        patch.setattr("playground.page.SweepTab", lambda service: SweepTab(service, FakeDecoder(), folder))
        with running(lambda settings, progress: EvilEngine(), EvilChat) as app:
            yield app
