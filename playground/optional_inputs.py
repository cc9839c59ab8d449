"""Blocks whose named endpoints may be called with fewer values than they have parameters.

`gradio_client` fills in defaults itself; a plain HTTP call does not, and Gradio refuses it with a text that means
nothing to the caller. Here the defaults of the Python function stand in for what is missing.
"""

from __future__ import annotations

import inspect
from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction


class OptionalInputs(gr.Blocks):
    """`gr.Blocks`, with missing trailing inputs taken from the function's defaults."""

    def validate_inputs(self, block_fn: BlockFunction, inputs: list[Any]) -> None:
        """Complete `inputs` in place, then check them as Gradio does.

        Raises `gr.Error` for a missing required one, for a file, which nothing here takes, and for a number past the
        ends of its slider: the box beside a slider takes any, and Gradio's own words for it do not say which.
        """
        if any(isinstance(value, dict) and "meta" in value for value in inputs):
            raise gr.Error("No files are taken here; give text or numbers.", print_exception=False)
        missing = len(block_fn.inputs) - len(inputs)
        if missing > 0 and block_fn.fn is not None:
            parameters = list(inspect.signature(block_fn.fn).parameters.values())[len(inputs) :]
            for parameter in parameters[:missing]:
                if parameter.default is inspect.Parameter.empty:
                    raise gr.Error(f"/{block_fn.api_name} needs a value for {parameter.name}.", print_exception=False)
                inputs.append(parameter.default)
        for control, value in zip(block_fn.inputs, inputs, strict=False):
            if isinstance(control, gr.Slider) and not _between(value, control.minimum, control.maximum):
                words = f"{control.label} must be from {control.minimum:g} to {control.maximum:g}."
                raise gr.Error(words, print_exception=False)
        super().validate_inputs(block_fn, inputs)


def _between(value: object, low: float, high: float) -> bool:
    """What is no number at all is refused where it is used, by name."""
    return not isinstance(value, int | float) or low <= value <= high
