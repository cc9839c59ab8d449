"""What a visitor asks of a sweep, checked before any work: each refusal is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playground.limits import Refused, check_number
from playground.names import offered
from playground.settings import Settings
from playground.store.values import short_line
from playground.sweep.prompts import CATEGORIES, PROMPTS, Prompt, own_prompts
from playground.text import well_formed

LEAST_NEW, MOST_NEW, FIRST_NEW = 8, 512, 48
MOST_REPEATS, FIRST_REPEATS = 9, 3
MOST_LINES, LINE_CHARS = 12, 4000
MOST_PASSES = 1200
"""An hour and a half of the default checkpoint on two cores."""
NAME_CHARS = 60


@dataclass(frozen=True)
class Arm:
    """One setting to measure. `drafter` is the engine's name for it."""

    drafter: str
    draft_len: int


PLAIN = Arm("none", 0)


@dataclass(frozen=True)
class SweepOptions:
    """One sweep."""

    drafters: tuple[str, ...]
    """Without `none`: plain decoding is always measured too."""
    lengths: tuple[int, ...]
    """Values of K, ascending."""
    prompts: tuple[Prompt, ...]
    max_new: int = FIRST_NEW
    repeats: int = FIRST_REPEATS
    name: str = ""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Plain decoding, then every drafter at every K."""
        return (PLAIN, *(Arm(drafter, length) for drafter in self.drafters for length in self.lengths))

    @property
    def passes(self) -> int:
        """How often a prompt is decoded in all."""
        return len(self.arms) * len(self.prompts) * self.repeats

    def order(self) -> Iterator[tuple[int, int, int]]:
        """(repeat, prompt, arm) in the order of measuring.

        Arms take turns within every prompt, so that a machine that slows down slows all of them; who begins moves on
        by one each time, so that none always follows the same other.
        """
        count = len(self.arms)
        for repeat in range(self.repeats):
            for prompt in range(len(self.prompts)):
                for place in range(count):
                    yield repeat, prompt, (place + repeat + prompt) % count


def check_sweep(
    drafters: object,
    lengths: object,
    categories: object,
    lines: object,
    max_new: object,
    repeats: object,
    name: object = "",
    *,
    settings: Settings,
) -> SweepOptions:
    """Settings as they came from a page. Raises `Refused` for the first that is out of range."""
    known = offered(settings)
    options = SweepOptions(
        drafters=tuple(known[chosen] for chosen in _drafters(drafters, known)),
        lengths=_lengths(lengths, settings.max_draft_len),
        prompts=_prompts(categories, lines),
        max_new=check_number("New tokens", max_new, LEAST_NEW, MOST_NEW),
        repeats=check_number("Repeats", repeats, 1, MOST_REPEATS),
        name=short_line(well_formed(name), NAME_CHARS) if isinstance(name, str) else "",
    )
    if options.passes > MOST_PASSES:
        raise Refused(
            f"That is {options.passes:,} decodes, and the most is {MOST_PASSES:,}; choose fewer settings, prompts or "
            "repeats."
        )
    return options


def plan_sentence(options: SweepOptions) -> str:
    """What is going to be measured."""
    arms, prompts = len(options.arms) - 1, len(options.prompts)
    return (
        f"Plain decoding and {arms} setting{'s' * (arms != 1)}, {prompts} prompt{'s' * (prompts != 1)}, "
        f"{options.repeats} repeat{'s' * (options.repeats != 1)}: {options.passes:,} decodes of at most "
        f"{options.max_new} tokens."
    )


def _drafters(chosen: object, known: dict[str, str]) -> list[str]:
    if not isinstance(chosen, list) or not chosen:
        raise Refused("Choose at least one drafter; plain decoding is measured in any case.")
    if any(name == "none" or not isinstance(name, str) or name not in known for name in chosen):
        names = ", ".join(name for name in known if name != "none")
        raise Refused(f"Drafters must be among {names}; others are chosen when the app is started.")
    return [name for name in known if name in chosen]


def _lengths(chosen: object, most: int) -> tuple[int, ...]:
    if not isinstance(chosen, list) or not chosen:
        raise Refused("Choose at least one draft length K.")
    return tuple(sorted({check_number("Draft length K", length, 1, most) for length in chosen}))


def _prompts(categories: object, lines: object) -> tuple[Prompt, ...]:
    if not isinstance(categories, list) or any(category not in CATEGORIES for category in categories):
        raise Refused(f"Kinds of prompts must be among {', '.join(CATEGORIES)}.")
    if not isinstance(lines, str):
        raise Refused("Your own prompts must be text, one a line.")
    own = own_prompts(well_formed(lines))
    if len(own) > MOST_LINES:
        raise Refused(f"There are {len(own)} prompts of your own; the most is {MOST_LINES}.")
    long = next((prompt for prompt in own if len(prompt.text) > LINE_CHARS), None)
    if long is not None:
        raise Refused(f"Your prompt “{short_line(long.text, 30)}” is longer than {LINE_CHARS:,} characters.")
    prompts = (*(prompt for prompt in PROMPTS if prompt.category in categories), *own)
    if not prompts:
        raise Refused("Choose a kind of prompt, or write one of your own.")
    return prompts
