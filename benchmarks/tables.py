"""The figures in aligned columns; a dash where an arm has no such thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
DASH = "-"


def speed_table(rows: Sequence[Row]) -> str:
    """Speeds, ratios, time to the first token by turn, and what a round brings."""
    turns = range(len(rows[0]["first_token_ms"]))
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("arm", lambda row: str(row["arm"])),
        ("decode tok/s", lambda row: _spread(row["decode_tokens_per_s"])),
        ("x generate", lambda row: _ratio(row["vs_generate"], "decode")),
        ("x lookup", lambda row: _ratio(row["vs_lookup"], "decode")),
        ("whole tok/s", lambda row: _spread(row["conversation_tokens_per_s"])),
        ("x generate", lambda row: _ratio(row["vs_generate"], "conversation")),
        ("x lookup", lambda row: _ratio(row["vs_lookup"], "conversation")),
        *((f"first ms {turn + 1}", _first_token(turn)) for turn in turns),
        ("tok/round", lambda row: f"{row['tokens_per_round']:.2f}"),
        ("accepted", lambda row: DASH if row["acceptance"] is None else f"{row['acceptance']:.0%}"),
    ]
    return aligned(columns, rows)


def round_table(rows: Sequence[Row]) -> str:
    """Forwards, where a round's time goes, the cost model, memory, and agreement with the plain arm."""
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("arm", lambda row: str(row["arm"])),
        *((name, _count(name)) for name in ("forwards", "rounds", "prefills", "flushes")),
        *((f"{part} ms", _part(part)) for part in ("draft", "verify", "accept", "host")),
        ("round ms", _part("total")),
        ("predicted", lambda row: _cost(row, "predicted")),
        ("measured", lambda row: _cost(row, "measured")),
        ("break-even", lambda row: _cost(row, "break_even", "")),
        ("peak MiB", lambda row: _mebibytes(row.get("peak_bytes"))),
        ("text as plain", lambda row: row["same_text_as_plain"] or DASH),
    ]
    return aligned(columns, rows)


def aligned(columns: Sequence[tuple[str, Callable[[Row], str]]], rows: Sequence[Row]) -> str:
    """Lines of cells, the first column to the left and the others to the right."""
    lines = [[head for head, _ in columns], *([cell(row) for _, cell in columns] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _spread(figure: dict[str, float]) -> str:
    return f"{figure['median']:.1f} ({figure['least']:.1f}-{figure['most']:.1f})"


def _ratio(ratios: dict[str, Any] | None, name: str) -> str:
    return DASH if ratios is None else f"{ratios[name]['median']:.2f}x"


def _first_token(turn: int) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        fraction = "" if row["vs_generate"] is None else f" ({row['vs_generate']['first_token'][turn]:.2f}x)"
        return f"{row['first_token_ms'][turn]['median']:.0f}{fraction}"

    return cell


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: str(row[name]) if row["round_ms"] or name == "forwards" else DASH


def _part(name: str) -> Callable[[Row], str]:
    return lambda row: DASH if row["round_ms"] is None else f"{row['round_ms'][name]:.2f}"


def _cost(row: Row, name: str, unit: str = "x") -> str:
    return DASH if row["cost_model"] is None else f"{row['cost_model'][name]:.2f}{unit}"


def _mebibytes(size: int | None) -> str:
    return DASH if size is None else f"{size / 2**20:.0f}"
