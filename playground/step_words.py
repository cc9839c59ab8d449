"""What a waiting turn says: one plain sentence on the stage that has ended and one on the stage to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from playground.names import public_name
from playground.panels.token_text import Tokenizer, TokenTexts

if TYPE_CHECKING:
    from engine.round import Round, Stage

Level = Literal["engineer", "student"]
LEVELS: tuple[Level, ...] = ("engineer", "student")
NEXT: dict[Level, dict[Stage, str]] = {
    "engineer": {
        "draft": "Next: {drafter} proposes at most {k} tokens after the pending {pending} at position {pos}.",
        "verify": "Next: one trunk forward over {columns} column{s}, the pending token and the drafts.",
        "accept": "Next: the {mode} rule walks the columns.",
        "commit": "Next: {rows} row{rs} stay in the caches, the rest is dropped by length, and {last} is carried.",
    },
    "student": {
        "draft": "Next, a quick helper guesses up to {k} tokens that may follow {pending}.",
        "verify": "Next, the model reads all guesses at once, in about the time it needs for one token.",
        "accept": "Next, the model's own opinion is compared with each guess, from left to right.",
        "commit": "Next, what was right is kept, and the last token waits to be the start of the next round.",
    },
}


def said(stage: Stage, step: Round, tokenizer: Tokenizer, level: Level) -> str:
    """Two sentences: what the stages before `stage` left, and what `stage` will do."""
    texts = TokenTexts(tokenizer)
    outcome = None if step.decision is None else step.decision.outcome
    columns = 1 + len(step.drafts)
    rows = 0 if outcome is None else outcome.rows
    facts = {
        "drafter": public_name(step.session.drafter.name),
        "k": step.session.draft_len,
        "pending": quoted(texts, [step.pending]),
        "pos": f"{len(step.session.committed):,}",
        "columns": columns,
        "s": "s" * (columns != 1),
        "mode": step.rule.mode,
        "rows": rows,
        "rs": "s" * (rows != 1),
        "last": quoted(texts, [] if outcome is None or outcome.pending is None else [outcome.pending]),
    }
    done = {"draft": "", "verify": _drafted, "accept": _verified, "commit": _accepted}[stage]
    before = done(step, texts, level) if callable(done) else done
    return f"{before} {NEXT[level][stage].format(**facts)}".strip()


def quoted(texts: TokenTexts, tokens: Sequence[int]) -> str:
    """Tokens as a reader sees them, each in its own quotation marks; line breaks as a glyph."""
    return " ".join("“" + texts(token).replace("\n", "↵").replace("\t", "⇥") + "”" for token in tokens) or "nothing"


def _drafted(step: Round, texts: TokenTexts, level: Level) -> str:
    count = len(step.drafts)
    if not count:
        return (
            "No drafts: this round is one plain step." if level == "engineer" else "The helper has no guess this time."
        )
    who = f"{public_name(step.session.drafter.name)} drafted" if level == "engineer" else "The helper guessed"
    return f"{who} {count}: {quoted(texts, step.drafts)}."


def _verified(step: Round, texts: TokenTexts, level: Level) -> str:
    if level == "engineer":
        return f"Verified at width {step.width}: logits for {1 + len(step.drafts)} column(s) are there."
    return "The model has read the guesses and has its own opinion on each place."


def _accepted(step: Round, texts: TokenTexts, level: Level) -> str:
    assert step.decision is not None
    outcome, count = step.decision.outcome, len(step.drafts)
    if not count:
        return f"The model's own token is {quoted(texts, outcome.tokens)}."
    kept = f"{outcome.accepted} of {count} draft{'s' * (count != 1)} accepted"
    if outcome.bonus is None:
        return f"{kept}; the answer ends there."
    if outcome.accepted == count:
        extra = "bonus" if level == "engineer" else "one more of the model's own"
        return f"{kept}, and {extra}: {quoted(texts, [outcome.bonus])}."
    wrong = quoted(texts, [step.drafts[outcome.accepted]])
    reason = _test(step) if level == "engineer" else ""
    return f"{kept}; {wrong} was rejected{reason} and corrected to {quoted(texts, [outcome.bonus])}."


def _test(step: Round) -> str:
    """The numbers of the accept test that failed, where there was one."""
    decision = step.decision
    if decision is None or len(decision.test_u) <= decision.outcome.accepted:
        return ""
    p, q, u = (of[-1] for of in (decision.test_p, decision.test_q, decision.test_u))
    return f" (p = {p:.3g}, q = {q:.3g}, u = {u:.3g}: u·q ≥ p)"
