"""Conversations as Markdown: whatever was said stays in its block, for any reader, and comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from playground.exchange import ExchangeError, conversation_markdown, export_markdown, import_markdown
from playground.store import Node, Talk
from playground.store.checks import check_talk, clean
from playground.store.values import short_line
from tests.playground.talks import NASTY, any_text, path, talks, texts


def talk_of(*said: str, name: str = "A name", system: str = "") -> Talk:
    nodes = tuple(Node(i, i - 1 if i else None, one) for i, one in enumerate(path(*said)))
    return Talk(name, 0.0, 60.0, system, {}, nodes, len(nodes) - 1 if nodes else None)


def blocks(data: bytes) -> Iterator[tuple[str, str]]:
    """Type and content of every block that a CommonMark reader sees, HTML included."""
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(data.decode()):
        if token.content or token.type in ("fence", "html_block", "code_block"):
            kinds = {child.type for child in token.children or ()}
            yield (token.type if kinds <= {"text", "text_special"} else f"{token.type} with {kinds}"), token.content


def seen(text: str) -> str:
    """A text as CommonMark hands it on: other line breaks and NULs are replaced."""
    return re.sub("\r\n?", "\n", clean(text).replace("\x00", "\ufffd") + "\n")


def check(talk: Talk) -> None:
    found = list(blocks(export_markdown(talk)))
    fences = [content for kind, content in found if kind == "fence"]
    assert fences == [seen(text) for text in ([talk.system] if talk.system else []) + texts(talk.path)]
    inline = [content for kind, content in found if kind != "fence"]
    assert {kind for kind, _ in found} <= {"fence", "inline"}
    assert len(inline) == bool(short_line(talk.name, 120)) + 3 + bool(talk.system) + len(talk.path)


@settings(max_examples=200, deadline=None)
@given(talks())
def test_a_markdown_reader_sees_each_text_in_a_block_of_its_own_and_nothing_else(talk: Talk) -> None:
    check(talk)


@pytest.mark.parametrize("text", NASTY)
def test_nothing_said_breaks_out(text: str) -> None:
    check(talk_of(text, f"before\n{text}\nafter", name=text, system=text))


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fence_of_fixed_length_would_be_noticed(monkeypatch: pytest.MonkeyPatch, fence: str) -> None:
    """Teeth: three backticks or tildes whatever the text holds."""
    monkeypatch.setattr(conversation_markdown, "_fenced", lambda text: [f"{fence}text", text, fence])
    with pytest.raises(AssertionError):
        check(talk_of(f"x\n{fence}\n# out\n<script>"))


def test_a_name_that_is_not_escaped_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: names as they are."""
    monkeypatch.setattr(conversation_markdown, "_SPECIAL", re.compile("(?!)"))
    with pytest.raises(AssertionError):
        check(talk_of(name="<img src=https://evil.example>"))


@settings(max_examples=200, deadline=None)
@given(talks())
def test_what_is_shown_comes_back(talk: Talk) -> None:
    back, known = import_markdown(export_markdown(talk)), check_talk(talk)
    assert texts(back.path) == texts(known.path) == texts(back.nodes)
    assert (back.name, back.system, back.updated) == (known.name, known.system, float(int(talk.updated)))
    assert export_markdown(back) == export_markdown(talk)


def test_it_reads_well() -> None:
    text = export_markdown(talk_of("What is 2+2?", "```python\nprint(2+2)\n```", name="Sums_1")).decode()
    assert text == (
        "# Sums\\_1\n\n- Draftscope conversation, form 1\n- created: 1970-01-01T00:00:00Z\n"
        "- updated: 1970-01-01T00:01:00Z\n\n## User\n\n```text\nWhat is 2+2?\n```\n\n"
        "## Assistant\n\n````text\n```python\nprint(2+2)\n```\n````\n"
    )


GOOD = export_markdown(talk_of("hello", "hi", system="be kind")).decode()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("heading with the name is missing", ""),
        ("Line 1 of the file is not a heading", "hello"),
        ("Line 1 of the file is not a heading", "\ufeff" + GOOD),
        ("Line 2 of the file is not an empty line", GOOD.replace("\n", "\r\n")),
        ("ends after line 1", "# x"),
        ("Line 3", "# x\n\n- Draftscope conversation, form 2\n"),
        ("Line 4 of the file is not a time", GOOD.replace("1970-01-01T00:00:00Z", "yesterday")),
        ("day and a time", GOOD.replace("1970-01-01T00:00:00Z", "1970-13-01T00:00:00Z")),
        ("heading that may stand here", GOOD.replace("## User", "## Robot")),
        ("heading that may stand here", GOOD + "\n## System\n\n```text\nagain\n```\n"),
        ("fence of backticks", GOOD.replace("```text\nhello", "```html\nhello")),
        ("has no end", GOOD[: GOOD.index("hello") + 5]),
        ("an empty line", GOOD + "and more\n"),
        ("Message 1 is out of turn", GOOD.replace("## User", "## Assistant")),
        ("Message 3 is out of turn", GOOD + "\n## Assistant\n\n```text\nmore\n```\n"),
        ("characters", GOOD.replace("hello", "x" * 10_000_000)),
        ("at most", GOOD.replace("hello", "x" * 18_000_000)),
    ],
)
def test_what_is_not_our_form_is_refused_with_its_line(words: str, text: str) -> None:
    with pytest.raises(ExchangeError, match=words) as refusal:
        import_markdown(text.encode())
    assert str(refusal.value).endswith(".") and len(str(refusal.value)) < 250


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 9), any_text)
def test_a_file_with_a_scratch_is_read_or_refused(place: int, gone: int, added: str) -> None:
    data = clean(GOOD[:place] + added + GOOD[place + gone :]).encode()
    try:
        back = import_markdown(data)
    except ExchangeError:
        return
    assert back == import_markdown(export_markdown(replace(back, created=back.created)))
