"""Makes text from a model or a user inert for the Markdown chat: it can say anything and do nothing.

Gradio's own cleaning lets `<style>`, `<form>`, fixed overlays and remote images through. So no tag of the text
reaches the Markdown parser at all: outside code `&` and `<` become entities; code that holds something that could
be read as a tag is written as our own `<code>` or `<pre>` with its content escaped. The rule does not rely on
the page's parser agreeing with this one on where code begins: `<` before a letter is only ever ours.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^(`{3,}|~{3,})([^\n]*)$")
_INLINE = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_TAGLIKE = re.compile(r"<(?=[A-Za-z/!?])")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Overrides and isolates that could reorder the page around the text."""
_MARKDOWN = re.compile(r"[&<>*_\[\]()!~`\\|$:#]")


def well_formed(text: str) -> str:
    """`text` without lone surrogates: no tokenizer, file or page can carry one, so U+FFFD stands in its place."""
    return _LONE.sub("\ufffd", text)


def plain(text: str) -> str:
    """`text` without characters that no page can carry: controls, lone surrogates, direction overrides."""
    return _BIDI.sub("", _UNSAFE.sub("\ufffd", text))


def inert(text: str) -> str:
    """Markdown that shows `text` with its formatting and code, but holds no HTML and no image of its own."""
    out: list[str] = []
    prose: list[str] = []
    lines = plain(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(lines):
        fence = _opening(lines[at])
        if fence is None:
            prose.append(lines[at])
            at += 1
            continue
        end = _closing(lines, at + 1, fence)
        out += [_prose("\n".join(prose))] if prose else []
        prose = []
        out.append(_block(lines[at], lines[at + 1 : end], fence))
        at = end + 1
    out += [_prose("\n".join(prose))] if prose else []
    return "\n".join(out)


def html(text: str) -> str:
    """`text` for a place inside an HTML element or a quoted attribute."""
    escaped = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


def _opening(line: str) -> str | None:
    # Only a fence at the line's start: an indented one may belong to a list, which could end before the fence does.
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return None
    return match[1]


def _closing(lines: list[str], start: int, fence: str) -> int:
    for at in range(start, len(lines)):
        bare = lines[at].strip()
        if len(bare) >= len(fence) and set(bare) == {fence[0]}:
            return at
    return len(lines)


def _block(first: str, body: list[str], fence: str) -> str:
    code = "\n".join(body)
    if not _TAGLIKE.search(first + code):
        return "\n".join(["", first, code, fence, ""])
    escaped = code.replace("&", "&amp;").replace("<", "&lt;")
    return f"\n<pre><code>{escaped}</code></pre>\n"


def _prose(text: str) -> str:
    out: list[str] = []
    last = 0
    for match in _INLINE.finditer(text):
        out.append(_escape(text[last : match.start()]))
        out.append(_span(match))
        last = match.end()
    out.append(_escape(text[last:]))
    return "".join(out)


def _span(match: re.Match[str]) -> str:
    if "<" not in match[2] and "&" not in match[2]:
        return match[0]
    return f"<code>{_MARKDOWN.sub(lambda m: f'&#{ord(m[0])};', match[2])}</code>"


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    # Images would fetch; link definitions can swallow a fence below them.
    return text.replace("![", "&#33;[").replace("]:", "]&#58;")
