"""Token texts on their way to the page: nothing invisible, nothing long, no markup, half characters as bytes."""

from __future__ import annotations

import json
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import events as ev
from playground.panels import LiveStatus, PanelFeed
from playground.panels.token_text import LONGEST, TokenTexts, visible


class Fixed:
    """A tokenizer of one token: its vocabulary piece and what it decodes to."""

    def __init__(self, piece: object, text: object) -> None:
        self.piece, self.text = piece, text

    def decode(self, token_ids: list[int], **options: object) -> str:
        if isinstance(self.text, Exception):
            raise self.text
        return self.text  # type: ignore[return-value]

    def convert_ids_to_tokens(self, ids: int) -> str:
        return self.piece  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("piece", "text", "shown"),
    [
        ("Ġtokens", " tokens", " tokens"),
        ("▁tokens", "tokens", " tokens"),
        ("Ċ", "\n", "\n"),
        ("âĢ", "\ufffd", "⟨E2 80⟩"),
        ("<0xE2>", "\ufffd", "⟨E2⟩"),
        ("<|im_end|>", "<|im_end|>", "<|im_end|>"),
        ("x", "a\u202eb\u200b\x00", "a⟨U+202E⟩b⟨U+200B⟩⟨U+0000⟩"),
        ("x", "\ud800", "⟨U+D800⟩"),
        ("x", "\u0301", "◌\u0301"),
        ("x", "z" * 90, "z" * (LONGEST - 1) + "…"),
        (None, "", "⟨7⟩"),
        ("x", OverflowError(), "⟨7⟩"),
    ],
)
def test_text_of_one_token(piece: object, text: object, shown: str) -> None:
    assert TokenTexts(Fixed(piece, text))(7) == shown


@given(st.text(max_size=120))
def test_nothing_hidden_is_left(text: str) -> None:
    out = visible(text)
    assert len(out) <= LONGEST
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not [char for char in out if char not in "\n\t" and unicodedata.category(char) in hidden]


@pytest.mark.parametrize(
    "evil", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u2028</script>", "\ud800", "${x}`{{x}}"]
)
def test_a_delta_holds_no_markup_and_survives_its_way(evil: str) -> None:
    feed = PanelFeed("s", Fixed("x", evil))
    error = ev.ErrorEvent(seq=0, where=evil, message=evil, state="FRESH")
    first = ev.PrefillEvent(seq=1, turn=0, burst=0, pos=0, tokens=4, width=4, ms=1.0, first=9)
    delta = feed.update([error, first], LiveStatus())
    assert "<" not in delta
    assert delta.encode("utf-8").decode("utf-8") == delta
    assert json.loads(delta)["v"]["9"] == visible(evil)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Gradio warns about script tags in a value
        import gradio as gr

        gr.HTML().postprocess(delta)
