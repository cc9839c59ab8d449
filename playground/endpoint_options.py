"""The parameters that several endpoints share: the fields of `TurnOptions`, listed once.

Gradio makes the public form of an endpoint from its function's signature. So the signature is built from the fields,
and the function takes their values as one mapping.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from functools import wraps
from inspect import Parameter
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from playground.limits import TurnOptions

T = TypeVar("T")
OWN = ("drafter", "draft_len", "system")
"""Settings that a session keeps until they are changed; None leaves them."""


def takes_options(*, but: Collection[str] = ()) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """For a method that ends in `**given: Any`: in its place callers see the options of a turn, all `but` some."""
    options = [parameter for parameter in _parameters() if parameter.name not in but]

    def change(method: Callable[..., T]) -> Callable[..., T]:
        hints = get_type_hints(method)
        own = [p for p in inspect.signature(method).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        signature = inspect.Signature([*own, *options], return_annotation=hints["return"])

        @wraps(method)
        def endpoint(*args: Any, **kwargs: Any) -> T:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return method(**bound.arguments)

        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__annotations__ = {name: hint for name, hint in hints.items() if name != "given"} | {
            parameter.name: parameter.annotation for parameter in options
        }
        return endpoint

    return change


def _parameters() -> list[Parameter]:
    """The fields as parameters, in types that JSON has."""
    hints, out = get_type_hints(TurnOptions), []
    for field in fields(TurnOptions):
        hint, default = hints[field.name], field.default
        if field.name in OWN:
            hint, default = hint | None, None
        elif field.name == "stop":
            hint, default = list[str] | None, None
        elif get_origin(hint) is Literal:
            hint = str
        out.append(Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hint))
    return out
