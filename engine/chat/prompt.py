"""The ids of the next prompt of a conversation: pure functions, no model.

A conversation is kept twice: as messages (text, for the template) and as the ids each answer was generated
with. The template is rendered as text; where it shows an answer unchanged, that answer's own ids are used,
and only the text around it is tokenised. So a prompt is a function of the conversation alone, whatever the
caches hold at the moment, and an answer is never tokenised otherwise than it was generated. If the rendered
text cannot be taken apart, what follows the session's own decoded text is tokenised; failing that, all of it.
What looks like a special token inside a message is hidden from all of this and stays text (`engine.chat.inert`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jinja2 import TemplateError

from engine.chat.detokenize import decode_ids
from engine.chat.inert import InertText
from engine.errors import EngineError

Message = dict[str, str]
Part = str | tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """An assistant message as it was generated."""

    ids: tuple[int, ...]
    """What was shown of it, stop id included."""
    text: str
    """Its content in the messages."""
    rest: str = ""
    """The end of `text` that `ids` do not cover: part of a token in which a stop string began. A later prompt has it
    as text behind the ids, so that the model reads what was shown."""


@dataclass(frozen=True)
class Prompt:
    """The ids of a prompt, generation prompt included."""

    ids: list[int]
    checkpoint_at: int | None
    """Length in ids without the live assistant header; None without a header or a token edge before it."""
    source: Literal["stored", "history", "text"]
    """Which ids earlier answers have: as stored, as the session holds them, or from their text."""


def render(tokenizer: Any, messages: Sequence[Mapping[str, str]], *, header: bool) -> str:
    """The template's text for `messages`, with the live assistant header if `header`.

    Raises `EngineError` when the checkpoint has no chat template or its template refuses the conversation.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise EngineError("This checkpoint has no chat template; load an instruction-tuned one to chat.")
    try:
        text: str = tokenizer.apply_chat_template(
            [dict(m) for m in messages], tokenize=False, add_generation_prompt=header
        )
    except (TemplateError, TypeError, ValueError) as error:
        roles = ", ".join(m["role"] for m in messages[:4])
        raise EngineError(
            f"The chat template refuses these messages (roles {roles}): {str(error).rstrip('.')}; "
            "clear the conversation, and leave out the system message if there is one."
        ) from error
    return text


def build_prompt(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    answers: Mapping[int, Answer],
    history: Sequence[int] = (),
    stop_ids: Iterable[int] = (),
) -> Prompt:
    """The next prompt of a conversation whose last message is the user's.

    `answers` maps indices of `messages` to what was generated there; `history` is the session's emitted one.
    Raises `EngineError` as `render` does.
    """
    stops = frozenset(stop_ids)

    def others() -> list[str]:
        return [render(tokenizer, messages, header=True), decode_ids(tokenizer, history, specials=True)]

    inert = InertText(tokenizer, [m["content"] for m in messages], stops, others)
    shown = [{**m, "content": inert.hide(m["content"])} for m in messages]
    given = {i: replace(a, text=inert.hide(a.text), rest=inert.hide(a.rest)) for i, a in answers.items()}
    full = render(tokenizer, shown, header=True)
    base = render(tokenizer, shown, header=False)
    header = full[len(base) :] if full.startswith(base) else ""
    parts = _splice(tokenizer, shown, given, full, stops) if given else None
    if parts is not None:
        return _assemble(inert, parts, header, "stored")
    held = inert.decode(history)
    if held and full.startswith(held):
        return _assemble(inert, [tuple(history), full[len(held) :]], header, "history")
    return _assemble(inert, [full], header, "text")


def _splice(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    answers: Mapping[int, Answer],
    full: str,
    stop_ids: frozenset[int],
) -> list[Part] | None:
    """`full` as text runs and stored ids in turn, or None if the places of the answers cannot be told."""
    order = sorted(answers)
    frames = _frames(tokenizer, messages, order, full)
    if frames is None or not full.startswith(frames[0]) or not full.endswith(frames[-1]):
        return None
    parts: list[Part] = []
    run, at = frames[0], len(frames[0])
    for place, index in enumerate(order, start=1):
        answer, frame = answers[index], frames[place]
        last = place == len(order)
        if last:
            end = len(full) - len(frame)
        elif full.startswith(answer.text + frame, at):
            end = at + len(answer.text)
        else:
            end = full.find(frame, at)
        if end < at:
            return None
        if full[at:end] == answer.text:
            parts += [run, _without_stop(answer.ids, stop_ids)]
            run = answer.rest + frame
        else:  # the template rewrote it (stripped its thinking, trimmed it): its text counts
            run += full[at:end] + frame
        at = end + len(frame)
    return [*parts, run] if at == len(full) else None


def _frames(tokenizer: Any, messages: Sequence[Mapping[str, str]], order: Sequence[int], full: str) -> list[str] | None:
    """What the template writes before, between and after the answers: `len(order) + 1` texts."""
    stem = "answer"
    while stem in full:
        stem += "q"
    marked = [dict(m) for m in messages]
    for index in order:
        marked[index]["content"] = f"{stem}{index}end"
    try:
        rest = render(tokenizer, marked, header=True)
    except EngineError:
        return None
    frames = []
    for index in order:
        frame, found, rest = rest.partition(f"{stem}{index}end")
        if not found:
            return None
        frames.append(frame)
    return None if stem in rest else [*frames, rest]


def _without_stop(ids: tuple[int, ...], stop_ids: frozenset[int]) -> tuple[int, ...]:
    """The ids less a final stop id: the template writes its own end of turn."""
    return ids[:-1] if ids and ids[-1] in stop_ids else ids


def _assemble(
    inert: InertText, parts: Sequence[Part], header: str, source: Literal["stored", "history", "text"]
) -> Prompt:
    """Tokenise the text parts, each in its place, and find the token edge before the live header."""
    ids: list[int] = []
    for part in parts[:-1]:
        ids += part if isinstance(part, tuple) else inert.encode(part, after=bool(ids))
    tail = parts[-1]
    assert isinstance(tail, str)
    start, after = len(ids), bool(ids)
    ids += inert.encode(tail, after=after)
    if not header or not tail.endswith(header):
        return Prompt(ids, None, source)
    before = inert.encode(tail[: -len(header)], after=after)
    edge = ids[start : start + len(before)] == before
    return Prompt(ids, start + len(before) if edge else None, source)
