"""Greedy tokens are bit-identical whatever the drafter, K, the burst size, the prefill chunk and the overshoot mode.

The tiny models take the full product; the default checkpoint a pairwise cover over a 600-token chat.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.factories import VOCAB
from tests.forwards import ForwardCounter
from tests.oracle import GREEDY_GAP, PlainOracle, StockOracle
from tests.scripts import GarbageDrafter, Script, run_turn, tiny_script

if TYPE_CHECKING:
    from engine import Engine

DRAFT_LENGTHS = range(1, 8)
BURSTS = (1, 2, 3, 7, 8, 32, None)
DRAFTERS = ("none", "ngram", "garbage")
CHUNKS = (5, 8, 64)
OVERSHOOT = ("keep", "trim", "drop")
ARCHS = ("llama", "mistral", "qwen2", "qwen3", "gemma", "phi3")
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True)
class Combination:
    """One arm of the product; its repr is what a failure names."""

    drafter: str
    draft_len: int
    burst: int | None
    chunk: int
    overshoot: str


def product() -> Iterator[Combination]:
    """Every K x burst x drafter x chunk; the overshoot mode takes turns over them."""
    modes = itertools.cycle(OVERSHOOT)
    for drafter, draft_len, burst, chunk in itertools.product(DRAFTERS, DRAFT_LENGTHS, BURSTS, CHUNKS):
        yield Combination(drafter, draft_len, burst, chunk, next(modes))


@dataclass
class Arm:
    """Runs scripts on one engine, counts what happened over all of them, and compares with the oracle."""

    engine: Engine
    oracle: PlainOracle
    vocab: int
    right: float = 0.8
    """Share of true ids among the garbage drafter's proposals."""
    accepted: int = 0
    rejected: int = 0

    def run(self, script: Script, combination: Combination) -> list[list[int]]:
        """Tokens of every turn, having asserted each against the oracle and the forwards against the trace."""
        drafter = self.drafter(combination.drafter, seed=combination.draft_len)
        session = self.engine.new_session(drafter=drafter, draft_len=combination.draft_len)
        self.engine.prefill_chunk = combination.chunk
        counter = ForwardCounter(self.engine)
        said = []
        history: list[int] = []
        try:
            for number, (suffix, new) in enumerate(script.turns):
                got = run_turn(session, suffix, new, combination.burst, combination.overshoot)
                history += suffix
                with counter.paused():
                    want = self.oracle.continuation(history, len(got))
                assert got == want, f"turn {number} of {combination}: {first_difference(got, want)}"
                history += got
                said.append(got)
                assert session.history == history, f"history after turn {number} of {combination}"
            assert counter.count == counter.in_trace(session), f"forwards of {combination}"
            self.accepted += session.telem.accepted
            self.rejected += session.telem.drafted - session.telem.accepted
        finally:
            counter.remove()
            session.close()
        return said

    def drafter(self, name: str, seed: int) -> str | GarbageDrafter:
        """The drafter to give to a session: its name, or a new spoiler of the oracle's tokens."""
        return (
            GarbageDrafter(self.vocab, seed=seed, right=self.right, truth=self.oracle_or_zeros)
            if name == "garbage"
            else name
        )

    def oracle_or_zeros(self, history: list[int], count: int) -> list[int]:
        """What the garbage drafter spoils: the oracle's tokens where it knows them, without decoding anything."""
        known: list[int] = []
        while len(known) < count:
            token = self.oracle.peek([*history, *known])
            known.append(0 if token is None else token)
        return known


def first_difference(got: list[int], want: list[int]) -> str:
    """Where two token lists part, in words."""
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        if ours != theirs:
            return f"token {index} is {ours}, plain decoding says {theirs}"
    return "identical"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arch", ARCHS)
def test_greedy_tokens_do_not_depend_on_how_they_are_decoded(tiny_engine, arch, dtype):
    engine = tiny_engine(arch, dtype)
    arm = Arm(engine, PlainOracle(engine), VOCAB)
    script = tiny_script(VOCAB, seed=ARCHS.index(arch))
    plain = arm.run(script, Combination("none", 7, None, 64, "trim"))
    for combination in product():
        said = arm.run(script, combination)
        if combination.overshoot != "keep":
            assert said == plain, f"{combination}"
    # A gate whose drafts all live or all die decides nothing.
    assert arm.accepted > 1000
    assert arm.rejected > 1000


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_draft_model_changes_no_token(tiny_engine, tiny_checkpoint, arch, dtype):
    """Drafting by the trunk's own weights, which is mostly right, and by another architecture's, which is not."""
    engine = tiny_engine(arch, dtype)
    arm = Arm(engine, PlainOracle(engine), VOCAB)
    script = tiny_script(VOCAB, seed=ARCHS.index(arch))
    other = ARCHS[(ARCHS.index(arch) + 1) % len(ARCHS)]
    modes = itertools.cycle(OVERSHOOT)
    for ref, draft_len, burst in itertools.product((arch, other), (1, 4, 7), (1, 3, None)):
        arm.run(script, Combination(f"model:{tiny_checkpoint(ref)}", draft_len, burst, 8, next(modes)))
    assert arm.accepted > 200
    assert arm.rejected > 200


def test_gemma2_alternating_windows_and_soft_caps_are_exact_too(tiny_engine):
    engine = tiny_engine("gemma2")
    arm = Arm(engine, PlainOracle(engine), VOCAB)
    script = tiny_script(VOCAB, seed=9)
    for drafter, overshoot in zip(("ngram", "garbage", "none"), OVERSHOOT, strict=True):
        arm.run(script, Combination(drafter, 5, 7, 8, overshoot))


@pytest.mark.parametrize("arch", [*ARCHS, "gemma2"])
def test_tiny_models_agree_with_transformers_generate_up_to_ties(tiny_engine, tiny_checkpoint, arch):
    engine = tiny_engine(arch)
    stock = StockOracle(tiny_checkpoint(arch))
    history: list[int] = []
    session = engine.new_session(drafter="ngram", draft_len=7)
    for suffix, new in tiny_script(VOCAB, new=40, seed=20).turns:
        got = run_turn(session, suffix, new, 8, "trim")
        history += suffix
        difference = stock.first_gap(history, got)
        assert difference is None or abs(difference[1]) < GREEDY_GAP, f"first difference (index, gap): {difference}"
        history += got
    session.close()


@pytest.mark.parametrize("arch", [*ARCHS, "gemma2"])
def test_the_scripts_streams_are_varied_and_ngram_is_right_and_wrong_on_them(tiny_engine, arch):
    engine = tiny_engine(arch)
    script = tiny_script(VOCAB, seed=ARCHS.index(arch) if arch in ARCHS else 9)
    session = engine.new_session(drafter="ngram", draft_len=4)
    said = [token for suffix, new in script.turns for token in run_turn(session, suffix, new, None, "trim")]
    telem = session.telem
    session.close()
    assert len(set(said)) >= 15, f"only {len(set(said))} different tokens of {len(said)}"
    assert telem.accepted >= 3
    assert telem.drafted - telem.accepted >= 3


def test_a_second_session_next_door_changes_nothing(tiny_engine):
    engine = tiny_engine("llama")
    script = tiny_script(VOCAB, seed=3)
    alone = engine.new_session(drafter="ngram", draft_len=7)
    want = [run_turn(alone, suffix, new, 8, "trim") for suffix, new in script.turns]
    alone.close()
    ours = engine.new_session(drafter="ngram", draft_len=7)
    theirs = engine.new_session(drafter="none")
    got = []
    for (suffix, new), (other, _) in zip(script.turns, tiny_script(VOCAB, seed=4).turns, strict=True):
        got.append(run_turn(ours, suffix, new, 3, "trim"))
        run_turn(theirs, other, 9, 2, "keep")
    ours.close()
    theirs.close()
    assert got == want


# --- The default checkpoint ---------------------------------------------------------------------------------

SEGMENT = 40
"""Tokens decoded with one (drafter, K, burst); a turn of the long chat has four of them, a run twelve."""
LONG_CHUNKS = (16, 37, 64, 160)


@dataclass(frozen=True)
class LongRun:
    """One pass over the long chat: settings of its prefill and of the twelve segments."""

    chunk: int
    overshoot: str
    segments: tuple[tuple[str, int, int | None], ...]


def cover() -> list[LongRun]:
    """Twelve runs over chunk x overshoot whose segments take every (drafter, K, burst) at least once.

    K means nothing to `none`, which is also the slowest: it appears once with each burst size.
    """
    rng = random.Random(3)
    segments = list(itertools.product(("ngram", "garbage"), DRAFT_LENGTHS, BURSTS))
    segments += rng.sample([segment for segment in segments if segment[0] == "garbage"], 39)
    segments += [("none", draft_len, burst) for draft_len, burst in zip(DRAFT_LENGTHS, BURSTS, strict=True)]
    rng.shuffle(segments)
    settings = list(itertools.product(LONG_CHUNKS, OVERSHOOT))
    return [
        LongRun(chunk, overshoot, tuple(segments[12 * i : 12 * i + 12]))
        for i, (chunk, overshoot) in enumerate(settings)
    ]


def test_the_cover_of_the_long_chat_is_pairwise():
    rows = [(run.chunk, run.overshoot, *segment) for run in cover() for segment in run.segments if segment[0] != "none"]
    levels = (LONG_CHUNKS, OVERSHOOT, ("ngram", "garbage"), DRAFT_LENGTHS, BURSTS)
    for one, two in itertools.combinations(range(5), 2):
        missing = set(itertools.product(levels[one], levels[two])) - {(row[one], row[two]) for row in rows}
        assert not missing, f"pairs of factors {one} and {two} never seen: {missing}"


@pytest.fixture(scope="module")
def chat_script(default_engine) -> Script:
    """A chat of three turns and 600 tokens in the default checkpoint's own template, ids fixed beforehand."""
    questions = [
        "Write a Python function that returns the n-th Fibonacci number, then explain it line by line.",
        "Now rewrite the function without recursion and keep the same name.",
        "List the two versions again, side by side, with one sentence about each.",
    ]
    turns = []
    for number, question in enumerate(questions):
        opening = "<|im_end|>\n" if number else "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        text = f"{opening}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        ids = default_engine.tokenizer.encode(text, add_special_tokens=False)
        turns.append((tuple(ids), 4 * SEGMENT))
    script = Script(tuple(turns))
    total = sum(len(suffix) + new for suffix, new in script.turns)
    assert 560 <= total <= 700, total
    return script


def run_long(arm: Arm, script: Script, run: LongRun) -> list[int]:
    """The run's tokens, each turn compared with the oracle; overshoot is kept across a turn only at the end.

    A history that overshot by other amounts would send the oracle over the whole chat again.
    """
    engine = arm.engine
    session = engine.new_session(drafter="none")
    segments = iter(run.segments)
    said: list[int] = []
    history: list[int] = []
    counter = ForwardCounter(engine)
    engine.prefill_chunk = run.chunk
    try:
        for number, (suffix, _) in enumerate(script.turns):
            last = number == len(script.turns) - 1
            got: list[int] = []
            for part in range(4):
                name, draft_len, burst = next(segments)
                session.set_drafter(arm.drafter(name, seed=number), draft_len)
                mode = run.overshoot
                if mode != "trim":
                    mode = "keep" if part < 3 or (last and mode == "keep") else "drop"
                need = (part + 1) * SEGMENT - len(got)
                got += run_turn(session, () if part else suffix, need, burst, mode)
            history += suffix
            with counter.paused():
                want = arm.oracle.continuation(history, len(got))
            assert got == want, f"turn {number} of {run}: {first_difference(got, want)}"
            history += got
            said += got
            assert session.history == history
        assert counter.count == counter.in_trace(session), f"forwards of {run}"
        arm.accepted += session.telem.accepted
        arm.rejected += session.telem.drafted - session.telem.accepted
    finally:
        counter.remove()
        session.close()
    return said


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_600_token_chat_of_the_default_checkpoint_is_exact(default_engine, chat_script):
    arm = Arm(default_engine, PlainOracle(default_engine), len(default_engine.tokenizer), right=0.9)
    history: list[int] = []
    for suffix, new in chat_script.turns:
        history += suffix
        history += arm.oracle.continuation(history, new)
    assert len(set(history)) > 80
    for run in cover():
        run_long(arm, chat_script, run)
    assert arm.accepted > 500
    assert arm.rejected > 500
