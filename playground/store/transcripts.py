"""A chat's transcript as a path to store, and a stored path as a transcript to go on with.

Apart from the rest of the store because it imports the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.chat.detokenize import Detokenizer, Vocabulary
from engine.chat.prompt import Answer
from engine.chat.transcript import Exchange, Transcript
from engine.events import Origin
from playground.store.values import Figure, Said, Talk


def path_of(
    transcript: Transcript,
    checkpoint: str,
    *,
    origins: Sequence[Origin] = (),
    drafting: Mapping[str, Figure] | None = None,
) -> list[Said]:
    """What `Store.save_path` takes. `origins` and `drafting` belong to the last answer, `checkpoint` to all ids.

    An answer that another checkpoint gave is known to this chat as text alone. Nothing is claimed of its ids then, so
    that it is found again as what it was, instead of beginning a branch of its own.
    """
    out: list[Said] = []
    for exchange in transcript.exchanges:
        out.append(Said("user", exchange.question))
        if exchange.answer is not None:
            answer = exchange.answer
            known = Said("assistant", answer.text, answer.ids, answer.rest, checkpoint=checkpoint)
            out.append(known if answer.ids else Said("assistant", answer.text))
    if out and out[-1].role == "assistant":
        fitting = tuple(origins) if len(origins) == len(out[-1].tokens or ()) else ()
        out[-1] = replace(out[-1], origins=fitting, drafting=drafting or {})
    return out


def transcript_of(talk: Talk, checkpoint: str, tokenizer: Any = None) -> Transcript:
    """What the conversation shows, for a chat with `checkpoint`.

    An answer keeps its ids if they are that checkpoint's and, where a `tokenizer` is given, say what its text says.
    Otherwise all of its text stands behind none, and the next prompt has it as text.
    """
    exchanges: list[Exchange] = []
    vocabulary = Vocabulary(tokenizer) if tokenizer is not None and any(n.said.tokens for n in talk.path) else None
    for node in talk.path:
        said = node.said
        if said.role == "user":
            exchanges.append(Exchange(said.content))
            continue
        answer = Answer(said.tokens or (), said.content, said.rest)
        own = said.tokens is not None and said.checkpoint == checkpoint
        if not own or (vocabulary is not None and not spells(vocabulary, answer)):
            answer = Answer((), said.content, said.content)
        exchanges[-1] = replace(exchanges[-1], answer=answer)
    return Transcript(talk.system or None, tuple(exchanges))


def spells(vocabulary: Vocabulary, answer: Answer) -> bool:
    """Whether an answer's ids say its text: a file from elsewhere may hold any, those of a turn's frame included.

    Special tokens leave no text, so only the last may be one; and a text may lack a character that was cut in two.
    """
    before = answer.ids[:-1]
    if any(token in vocabulary.special for token in before) or not all(map(vocabulary.known, answer.ids)):
        return False
    if not answer.text.endswith(answer.rest):
        return False
    stream = Detokenizer(vocabulary.tokenizer, vocabulary=vocabulary)
    text = stream.push(answer.ids) + stream.flush()
    shown = answer.text[: len(answer.text) - len(answer.rest)]
    return text.rstrip("\ufffd") == shown.rstrip("\ufffd")
