"""Who may load what: the owner of the machine anything, visitors from elsewhere what the operator listed.

A free choice of reference reads any folder of this machine, fetches any repository and fills its memory, so it is for
who sits at it: an app on a loopback address that is not shared. Code of a checkpoint runs only for the one that the
operator named when he started the app with the flag for it.
"""

from __future__ import annotations

from dataclasses import replace

from engine.checkpoints.reference import parse_reference
from engine.errors import CheckpointError
from playground.limits import Refused
from playground.models.catalogue import ENTRIES, Entry
from playground.names import drafter_label, public_name, short_reference
from playground.reach import reachable_by_others
from playground.settings import DRAFTER_PREFIX, DRAFTERS, Settings, SettingsError, check_drafter

ALL = "all"
LONGEST = 500
"""Characters of a reference."""
NOT_LISTED = "This model is not among those that may be loaded here; choose one of the list."
NONE = "Models are switched by the operator of this app, who may allow some with --models."


def parse_models(text: str) -> tuple[Entry, ...]:
    """Entries of the curated list from their comma-separated names, or `all`. Raises `SettingsError`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {entry.key: entry for entry in ENTRIES}
    if names == [ALL]:
        return ENTRIES
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None:
        raise SettingsError(f"--models names {wrong!r}, which is not known: use {ALL}, or some of {', '.join(known)}.")
    return tuple(known[name] for name in dict.fromkeys(names))


class Allowed:
    """What the page may load, by the settings the app was started with and the operator's list (`--models`)."""

    def __init__(self, start: Settings, models: str = "") -> None:
        listed = parse_models(models)
        self._start = start
        self.free = not reachable_by_others(start)
        self.entries = ENTRIES if self.free and not models.strip() else listed

    @property
    def any(self) -> bool:
        """Whether anything may be loaded."""
        return self.free or bool(self.entries)

    def settings(self, model: object, drafter: object) -> Settings:
        """The start's settings with another pair. Raises `Refused` for one that may not be loaded here."""
        if not self.any:
            raise Refused(NONE)
        if not isinstance(model, str) or not isinstance(drafter, str) or len(model) + len(drafter) > LONGEST:
            raise Refused("Give a checkpoint and a drafter as text.")
        model, drafter = model.strip(), drafter.strip()
        if self.free:
            self._check(model, drafter)
        else:
            model, drafter = self._listed(model, drafter)
        trusted = self._start.trust_remote_code and model == self._start.model
        return replace(self._start, model=model, drafter=drafter, trust_remote_code=trusted)

    def shown_model(self, model: str) -> str:
        """A reference as the page's box holds it: without a path where others may read it."""
        return model if self.free else short_reference(model)

    def shown_drafter(self, drafter: str) -> str:
        """As `shown_model`, for a drafter."""
        return drafter if self.free else public_name(drafter)

    def models(self) -> list[tuple[str, str]]:
        """Label and reference of the checkpoints to choose from: the listed ones and that of the start."""
        listed = {entry.reference: f"{entry.label} ({entry.reference})" for entry in self.entries}
        start = self.shown_model(self._start.model)
        return [(label, reference) for reference, label in ({start: start} | listed).items()]

    def drafters(self, model: str) -> list[tuple[str, str]]:
        """Label and name of the drafters to choose from for a model."""
        names = [*DRAFTERS, *(entry.drafter for entry in self.entries if entry.reference == model.strip())]
        if model.strip() == self.shown_model(self._start.model):
            names.append(self._start.drafter)
        shown = dict.fromkeys(self.shown_drafter(name) for name in names)
        return [(_capital(drafter_label(name)), name) for name in shown]

    def _check(self, model: str, drafter: str) -> None:
        try:
            check_drafter(drafter)
            parse_reference(model)
            if drafter.startswith(DRAFTER_PREFIX):
                parse_reference(drafter.removeprefix(DRAFTER_PREFIX))
        except SettingsError:
            raise Refused(f"{drafter!r} is not a drafter; use none, ngram or model:REF.") from None
        except CheckpointError as error:
            raise Refused(str(error)) from None

    def _listed(self, model: str, drafter: str) -> tuple[str, str]:
        """The pair by its public names, which for the operator's own start may stand for paths."""
        pairs = {entry.reference: entry.drafter for entry in self.entries}
        if model == short_reference(self._start.model):
            model, own = self._start.model, self._start.drafter
        elif model in pairs:
            own = pairs[model]
        else:
            raise Refused(NOT_LISTED)
        if drafter in DRAFTERS:
            return model, drafter
        if drafter != public_name(own):
            raise Refused("This drafter is not among those that may be used with this model here.")
        return model, own


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
