"""The line of figures: what each is called, how it is computed, and its text. Names and formulas as in the field."""

from __future__ import annotations

from dataclasses import dataclass

from engine.telemetry import SpecTelemetry
from playground.panels.status import LiveStatus


@dataclass(frozen=True)
class Figure:
    """One figure of the line."""

    key: str
    label: str
    formula: str
    """One or two sentences for the tooltip, the description and the help list."""
    plain: str
    """The same for a reader who is new to the field."""


FIGURES = (
    Figure(
        "tokens_per_second",
        "tokens/s",
        "Tokens emitted per second of decoding, averaged over the last seconds. Prefill is not counted.",
        "How fast the answer is written. A token is a piece of a word.",
    ),
    Figure(
        "tokens_per_round",
        "tokens per round",
        "emitted ÷ rounds, over all rounds. Without speculation it is 1: each verify forward yields one token.",
        "How many tokens each step of the model gives. Without a helper it is always 1; the rest is the gain.",
    ),
    Figure(
        "mean_acceptance_length",
        "mean acceptance length",
        "1 + accepted ÷ rounds that had drafts. The 1 is the trunk's own token, which every such round adds.",
        "The same, counting only steps in which the helper had a guess.",
    ),
    Figure(
        "draft_acceptance_rate",
        "draft acceptance rate",
        "accepted ÷ drafted: the share of all proposed tokens that the trunk agreed with.",
        "How many of the helper's guesses were right.",
    ),
    Figure(
        "rounds",
        "rounds",
        "Verify forwards of the trunk in this session, those without drafts included.",
        "How many steps the model has taken so far.",
    ),
    Figure(
        "overshoot",
        "overshoot",
        "Tokens past the budget of new tokens: those now held in the caches and not shown, and all that were let go.",
        "Tokens worked out past the end of the answer: kept aside in case you continue, or thrown away.",
    ),
    Figure(
        "pending",
        "pending state",
        "PENDING: the last emitted token has no row in the caches yet; the next round takes it as its column 0. "
        "PREDICTED: every token has its row and the next one is known. FRESH: nothing yet.",
        "Whether the newest token still waits to be read by the next step.",
    ),
    Figure(
        "rewind_points",
        "rewind points",
        "Positions, in tokens, that the session can return to without computing anything again.",
        "Places in the conversation that one can go back to at once.",
    ),
    Figure(
        "context", "context used", "Rows in the caches ÷ rows they can hold.", "How much of the model's memory is full."
    ),
)


def figure_texts(telem: SpecTelemetry, status: LiveStatus, let_go: int) -> dict[str, str]:
    """Every figure's text by key: the value, then after ` · ` what qualifies it; a dash where nothing was counted."""
    points = status.rewind_points
    at = " · at " + ", ".join(map(str, points[-2:])) if points else ""
    share = f" · {status.committed / status.max_ctx:.0%}" if status.max_ctx else ""
    return {
        "tokens_per_second": f"{status.tok_s:.1f}" if status.tok_s > 0 else "—",
        "tokens_per_round": f"{telem.tokens_per_round:.2f}" if telem.rounds else "—",
        "mean_acceptance_length": f"{telem.mean_acceptance_length:.2f}" if telem.draft_rounds else "—",
        "draft_acceptance_rate": f"{telem.draft_acceptance_rate:.1%}" if telem.drafted else "—",
        "rounds": f"{telem.rounds} · {_drafting(status)}",
        "overshoot": f"{status.hidden_overshoot} held · {let_go} let go",
        "pending": status.state,
        "rewind_points": f"{len(points)}{at}",
        "context": f"{status.committed} / {status.max_ctx}{share}" if status.max_ctx else "—",
    }


def _drafting(status: LiveStatus) -> str:
    return "no drafter" if status.drafter == "none" else f"{status.drafter}, up to {status.draft_len}"
