"""What a call may leave out, and what is refused before any handler sees it."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pytest

from playground.optional_inputs import OptionalInputs


def settle(*values: Any) -> list[Any]:
    """The values that a handler of a text and a slider from 1 to 7 would get."""
    with OptionalInputs() as page:
        text, length = gr.Textbox(label="Text"), gr.Slider(1, 7, label="Draft length K")

        def handler(text: str, length: float = 3) -> str:
            return text * int(length)

        event = gr.Button().click(handler, [text, length], [text])
    given = list(values)
    page.validate_inputs(page.fns[event["id"]], given)
    return given


def test_what_is_missing_at_the_end_is_the_functions_default() -> None:
    assert settle("a") == ["a", 3] and settle("a", 5) == ["a", 5]
    with pytest.raises(gr.Error, match="needs a value for text"):
        settle()


@pytest.mark.parametrize("value", [0, 99, 7.5, -1e9, float("nan")])
def test_a_number_past_the_ends_of_its_slider_is_refused_by_name_and_quietly(value: float) -> None:
    with pytest.raises(gr.Error, match=r"^'Draft length K must be from 1 to 7\.'$") as refused:
        settle("a", value)
    assert not refused.value.print_exception, "a typing mistake is no fault of the server's"


@pytest.mark.parametrize("value", [1, 7, 2.5, None, "seven"])
def test_what_is_within_or_no_number_is_left_to_who_uses_it(value: object) -> None:
    assert settle("a", value) == ["a", value]


def test_files_are_not_taken() -> None:
    with pytest.raises(gr.Error, match="No files"):
        settle({"meta": {"_type": "gradio.FileData"}})
