"""The drafter protocol serves a head that conditions on the trunk's hidden states and keeps a cache of its own.

The head is of the EAGLE kind in small: row p of its cache is (token p, hidden of position p - 1); from rows p and p - 1
it predicts the hidden of position p, and with the trunk's own norm and output matrix the token after it. Its one
fitted layer is solved by least squares on what the trunk did over the very script it is tested on, so with the right
pairing it drafts well, and anything wrong with its rows shows as lost acceptance.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from engine import generate_spec_session, spec_flush_pending, spec_rewind_to_checkpoint
from engine.events import DrafterEvent
from engine.rewind import drop_overshoot
from tests.factories import VOCAB
from tests.scripts import run_turn, tiny_script

FEATURES = 1536
SCRIPT = tiny_script(VOCAB, new=60, lengths=(17, 9, 13), seed=31)


class HiddenHead:
    """The small head. `same_row` breaks its pairing: row p gets the hidden of position p instead of p - 1."""

    name = "hidden-head"
    needs_hidden = True
    max_ctx: int | None = None

    def __init__(self, model: torch.nn.Module, capacity: int, *, same_row: bool = False) -> None:
        self._model = model
        self._embed = model.get_input_embeddings().weight.detach().float()
        self._embed = self._embed / self._embed.std()
        width = self._embed.shape[1] + model.config.hidden_size
        generator = torch.Generator().manual_seed(0)
        self._random = torch.randn(2 * width, FEATURES, generator=generator) / (2 * width) ** 0.5
        self.fitted = torch.zeros(FEATURES, model.config.hidden_size)
        self.cache = torch.zeros(capacity, width)
        self.tokens: list[int] = []
        self._last: Tensor | None = None
        self._same_row = same_row
        self.cold_starts = 0

    def release(self) -> None:
        """Its rows are filled again with the session's, at the re-prime."""

    def start(self, committed: Sequence[int], last_h: Tensor | None) -> None:
        self.cold_starts += bool(committed)
        self.tokens = list(committed)
        self.cache.zero_()
        self._last = last_h

    def observe(self, tokens: Sequence[int], hidden: Tensor | None) -> None:
        assert hidden is not None
        assert hidden.shape == (len(tokens), self._model.config.hidden_size)
        for token, own in zip(tokens, hidden, strict=True):
            self._fill(len(self.tokens), token, own if self._same_row else self._last)
            self.tokens.append(token)
            self._last = own.clone()

    def propose(self, pending: int, k: int, last_h: Tensor | None) -> list[int]:
        assert last_h is not None
        assert self._last is not None
        assert torch.equal(last_h, self._last), "last_h is not the hidden of the last row"
        drafts: list[int] = []
        token, before = pending, last_h.float()
        for at in range(len(self.tokens), len(self.tokens) + k):
            # Rows past the committed ones are approximations, overwritten when the trunk has decided.
            self._fill(at, token, before)
            before = self.features(at) @ self.fitted
            token = int(self._model.lm_head(self._model.model.norm(before)).argmax())
            drafts.append(token)
        return drafts

    def truncate(self, length: int, last_h: Tensor | None) -> None:
        assert length <= len(self.tokens)
        del self.tokens[length:]
        self._last = last_h

    def snapshot(self) -> object:
        return len(self.tokens)

    def restore(self, snapshot: object, last_h: Tensor | None) -> None:
        assert isinstance(snapshot, int)
        self.truncate(snapshot, last_h)

    def features(self, at: int) -> Tensor:
        """[FEATURES] of row `at` and the one before it (zeros before the first)."""
        previous = self.cache[at - 1] if at else torch.zeros_like(self.cache[0])
        return torch.relu(torch.cat([self.cache[at], previous]) @ self._random)

    @property
    def rows(self) -> Tensor:
        """The filled rows of the cache, [committed, width]."""
        return self.cache[: len(self.tokens)]

    def _fill(self, at: int, token: int, before: Tensor | None) -> None:
        hidden = torch.zeros(self._model.config.hidden_size) if before is None else before.float()
        self.cache[at] = torch.cat([self._embed[token], hidden / 4])


@pytest.fixture(scope="module")
def engine(tiny_engine):
    return tiny_engine("llama", max_ctx=512)


@pytest.fixture(scope="module")
def fitted(engine) -> Tensor:
    """The head's layer [FEATURES, H], solved on the plain run of the script."""
    head = HiddenHead(engine.trunk.model, 512)
    shown: list[Tensor] = []
    observe = head.observe

    def keep(tokens, hidden):
        shown.append(hidden.float().clone())
        observe(tokens, hidden)

    head.observe = keep
    head.propose = lambda pending, k, last_h: []
    session = engine.new_session(drafter=head)
    for suffix, new in SCRIPT.turns:
        run_turn(session, suffix, new, None, "trim")
    session.close()
    x = torch.stack([head.features(at) for at in range(len(head.tokens))]).double()
    y = torch.cat(shown).double()
    gram = x @ x.T + 1e-6 * torch.eye(len(x), dtype=torch.double)
    return (x.T @ torch.linalg.solve(gram, y)).float()


def make_head(engine, fitted, **options) -> HiddenHead:
    head = HiddenHead(engine.trunk.model, 512, **options)
    head.fitted = fitted
    return head


def drafted_well(engine, head, burst=8) -> float:
    """Acceptance rate of `head` over the script, K = 4, having checked its rows and the text after every turn."""
    session = engine.new_session(drafter=head, draft_len=4)
    plain = engine.new_session(drafter="none")
    for suffix, new in SCRIPT.turns:
        got = run_turn(session, suffix, new, burst, "drop")
        assert got == run_turn(plain, suffix, new, None, "trim"), "a drafter changed the text"
        assert head.tokens == session.committed
    rate = session.telem.draft_acceptance_rate
    session.close()
    plain.close()
    return rate


def test_with_the_right_pairing_most_drafts_are_accepted_and_with_the_wrong_one_few(engine, fitted):
    right = drafted_well(engine, make_head(engine, fitted))
    wrong = drafted_well(engine, make_head(engine, fitted, same_row=True))
    assert right > 0.6, right
    assert wrong < right / 2, (right, wrong)


@pytest.mark.parametrize("burst", [1, 3, None])
def test_its_acceptance_survives_burst_edges(engine, fitted, burst):
    assert drafted_well(engine, make_head(engine, fitted), burst) > 0.6


def rows_if_primed_afresh(engine, fitted, committed) -> Tensor:
    """What the head's cache must hold: the rows a new session fills in one prefill of the same tokens."""
    head = make_head(engine, fitted)
    session = engine.new_session(drafter=head, draft_len=4)
    generate_spec_session(session, committed, 1, ignore_eos=True)
    session.close()
    return head.rows


def test_its_rows_are_filled_truncated_and_rewound_with_the_session(engine, fitted):
    head = make_head(engine, fitted)
    session = engine.new_session(drafter=head, draft_len=4)

    def check():
        assert head.tokens == session.committed
        assert torch.equal(head.rows, rows_if_primed_afresh(engine, fitted, session.committed))

    (first, _), (second, _), _ = SCRIPT.turns
    chunk, engine.prefill_chunk = engine.prefill_chunk, 8
    try:
        generate_spec_session(session, first, 12, ignore_eos=True)
        check()
        generate_spec_session(session, [], 9, ignore_eos=True, overshoot="trim")
        check()
        generate_spec_session(session, second, 11, ignore_eos=True)
        check()
        spec_flush_pending(session)
        check()
        generate_spec_session(session, [], 10, ignore_eos=True)
        check()
        spec_rewind_to_checkpoint(session)
        check()
        generate_spec_session(session, [], 6, ignore_eos=True)
        check()
        last = [event for event in session.trace if event.kind == "round"][-1]
        drop_overshoot(session, last.emitted)
        check()
        spec_rewind_to_checkpoint(session, session.rewind_points()[0])
        check()
        # A turn cancelled between prefill chunks leaves the head's rows as they were.
        polls = iter([True, True, False])
        generate_spec_session(session, second * 3, 6, on_tokens=lambda _: next(polls))
        check()
        generate_spec_session(session, second * 3, 6, ignore_eos=True)
        check()
    finally:
        engine.prefill_chunk = chunk
    assert head.cold_starts == 0
    session.close()


def test_it_starts_cold_when_it_joins_late_and_the_trace_says_so(engine, fitted):
    session = engine.new_session(drafter="ngram", draft_len=4)
    generate_spec_session(session, SCRIPT.turns[0][0], 8, ignore_eos=True)
    head = make_head(engine, fitted)
    session.set_drafter(head, 4)
    assert head.cold_starts == 1
    assert any(event.kind == "drafter" and event.action == "cold" for event in session.trace)
    want = engine.new_session(drafter="none")
    generate_spec_session(want, session.history, 12, ignore_eos=True)
    got = generate_spec_session(session, [], 12, ignore_eos=True, overshoot="trim").tokens
    assert got == want.history[-12:]
    assert head.tokens == session.committed
    session.close()
    want.close()


def test_a_head_with_a_short_context_stops_drafting_there_visibly(engine, fitted):
    head = make_head(engine, fitted)
    head.max_ctx = 40
    session = engine.new_session(drafter=head, draft_len=4)
    generate_spec_session(session, SCRIPT.turns[0][0], 60, ignore_eos=True)
    rounds = [event for event in session.trace if event.kind == "round"]
    assert all(not event.drafted for event in rounds if event.pos >= 40)
    assert any(event.drafted for event in rounds)
    assert any(event.kind == "drafter" and event.action == "limit" for event in session.trace)
    session.close()


def test_a_rewind_past_a_change_of_drafter_is_a_cold_start_too(engine, fitted):
    """The checkpoint's snapshot is another drafter's, and the hidden rows before it are gone."""
    session = engine.new_session("ngram")
    generate_spec_session(session, [5, 9, 14, 30], 6, ignore_eos=True)
    session.set_drafter(make_head(engine, fitted), 3)
    before = len(session.trace.of(DrafterEvent))
    pos = spec_rewind_to_checkpoint(session)
    events = session.trace.of(DrafterEvent)[before:]
    assert [(event.action, event.pos) for event in events] == [("cold", pos)]
    session.set_drafter("ngram")
    before = len(session.trace.of(DrafterEvent))
    spec_rewind_to_checkpoint(session)
    assert len(session.trace.of(DrafterEvent)) == before, "its own snapshot is restored, silently"
    session.close()
