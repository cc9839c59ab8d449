"""Philox4x32-10: the published vectors, the mapping to uniforms, and streams that never meet."""

from __future__ import annotations

import pytest
import torch

from kernels import philox
from kernels.philox import Role
from tests.kernels.chi_square import BOUND, p_value
from tests.kernels.forms import FORMS, load

ONES = 0xFFFFFFFF
# Random123's known answers: counter, key, output.
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def _known(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    words = philox.words(key[0] | key[1] << 32, *(torch.tensor([word]) for word in counter))
    return tuple(int(word) for word in words)


@pytest.mark.parametrize(("counter", "key", "output"), VECTORS)
def test_gives_the_published_words(counter, key, output):
    assert _known(counter, key) == output


def test_one_round_less_is_noticed(monkeypatch):
    monkeypatch.setattr(philox, "ROUNDS", 9)
    assert all(_known(counter, key) != output for counter, key, output in VECTORS)


@pytest.mark.parametrize("form", FORMS)
def test_counter_key_and_word_go_where_the_module_says(form):
    seed, role, event, lane = 0x299F31D0_A4093822, 3, (7 << 32) | 0x85A308D3, 21
    drawn = load("philox", form)(seed, role, torch.tensor([event]), 22)[0, lane]
    word = _known((lane // 4, 0x85A308D3, 7, role), (0xA4093822, 0x299F31D0))[lane % 4]
    assert float(drawn) == ((word >> 9) + 0.5) / 2**23


@pytest.mark.parametrize("lanes", [1, 3, 4, 5, 1023, 1024, 1025, 5001])
@pytest.mark.parametrize("seed", [0, 1, -5, 1 << 31, 1 << 63, 2**64 - 1])
def test_fused_gives_the_same_bits(seed, lanes):
    counters = torch.tensor([0, 1, 2**31, 2**32 + 7, 2**63 - 1])
    expected = philox.reference(seed, Role.TARGET_DRAW, counters, lanes)
    assert torch.equal(load("philox", "fused")(seed, Role.TARGET_DRAW, counters, lanes), expected)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_asked_for_is_nothing_drawn(form):
    draw = load("philox", form)
    assert draw(1, 1, torch.tensor([1, 2]), 0).shape == (2, 0)
    assert draw(1, 1, torch.zeros(0, dtype=torch.int64), 5).shape == (0, 5)


@pytest.mark.parametrize("form", FORMS)
def test_a_seed_on_the_device_is_the_same_seed(form):
    draw, counters = load("philox", form), torch.tensor([9])
    assert torch.equal(draw(torch.tensor([-3]), 1, counters, 40), draw(-3, 1, counters, 40))


def test_uniforms_are_odd_multiples_of_the_smallest_step():
    u = philox.reference(5, Role.ACCEPT, torch.arange(100), 10_000).double() * 2**24
    assert bool((u % 2 == 1).all()) and float(u.min()) >= 1 and float(u.max()) <= 2**24 - 1


def test_a_value_does_not_depend_on_what_is_drawn_with_it():
    counters = torch.tensor([3, 2**40, 3, 11])
    many = philox.reference(8, Role.GUMBEL, counters, 97)
    assert torch.equal(many[0], many[2])
    for row, counter in enumerate(counters):
        assert torch.equal(philox.reference(8, Role.GUMBEL, counter[None], 33)[0], many[row, :33])


def test_no_two_streams_share_a_word():
    seen: set[float] = set()
    drawn = 0
    for seed in (0, 1, 1 << 32):
        for role in Role:
            pairs = philox.reference(seed, role, torch.tensor([0, 1, 1 << 32]), 64).double().view(-1, 2)
            seen.update(
                (pairs[:, 0] * 2**23 + pairs[:, 1]).tolist()
            )  # 46 bits: chance meetings are out of the question
            drawn += len(pairs)
    assert len(seen) == drawn


@pytest.mark.parametrize("role", list(Role))
def test_uniforms_are_uniform(role):
    """Over events in one lane, as accept tests use them, and over lanes of one event, as noise does."""
    for drawn in (
        philox.reference(1, role, torch.arange(65_536), 1),
        philox.reference(1, role, torch.tensor([4]), 65_536),
    ):
        counts = torch.histc(drawn, 64, 0.0, 1.0)
        assert p_value(counts, torch.ones(64)) > BOUND
