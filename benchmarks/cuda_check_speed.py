"""Speed: plain decoding against the memory roofline, a round's time, speed-up against acceptance, and `generate`.

    share of roofline = bytes read a token x tokens a second / bytes a second of a copy on the device

A copy reads and writes every byte, and both are counted. Bytes read a token: every weight but the embedding, of which
one row is read, and the rows of keys and values that stand at the middle of the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from benchmarks.cuda_check_models import OracleDrafter, Shape, checkpoint, engine_of, prompt_of
from benchmarks.cuda_check_report import Clock, Report
from benchmarks.generate_arm import GenerateArm
from engine import Engine, generate_spec_session
from engine.drafters import Drafter
from engine.events import RoundEvent

ACCEPTANCES = (0.0, 0.5, 0.8, 0.9, 1.0)
DRAFT_LENGTHS = (2, 4, 7)
REPEATS = 3
PROMPT = 64


def copy_bandwidth(device: torch.device, size: int) -> float:
    """Bytes moved per second, read and written, by a copy of `size` bytes on the device."""
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size / (device_ms(lambda: target.copy_(source), device, 10) / 1e3)


def device_ms(run: Callable[[], object], device: torch.device, count: int) -> float:
    """Median milliseconds of `run` on the device itself, by events; on a processor by its clock."""
    run()
    times = []
    for _ in range(count):
        if device.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
    return median(times)


def check_speed(
    report: Report, clock: Clock, shape: Shape, device: torch.device, dtype: torch.dtype, new: int, bandwidth: float
) -> None:
    """All of it for one shape."""
    section, prompt = f"speed {shape.name}", prompt_of(shape, PROMPT)
    source = checkpoint(shape, device, dtype)
    plain_rate, plain_ms = _plain(report, section, source, prompt, new, bandwidth)
    clock.check()
    engine = engine_of(source, max(DRAFT_LENGTHS), PROMPT + 4 * new)
    try:
        _speculative(report, clock, section, engine, shape, prompt, new, plain_rate, plain_ms)
    finally:
        engine.close()
    del engine, source
    clock.check()
    _generate(report, section, shape, device, dtype, prompt, new, plain_rate)


def _plain(
    report: Report, section: str, source: object, prompt: Sequence[int], new: int, bandwidth: float
) -> tuple[float, float]:
    """Tokens per second and milliseconds per round of the engine at width 1."""
    engine = engine_of(source, 0, len(prompt) + 4 * new)  # type: ignore[arg-type]
    rates, steps = [], []
    for _ in range(REPEATS):
        rate, events, _ = decode(engine, "none", 0, prompt, new)
        rates.append(rate)
        steps += [event.draft_ms + event.verify_ms + event.accept_ms + event.host_ms for event in events]
    rate = median(rates)
    weights = sum(p.nbytes for p in engine.trunk.model.parameters())
    embedding = engine.trunk.model.get_input_embeddings().weight
    rows = sum((s.key_dim + s.value_dim) * s.kv_heads * embedding.element_size() for s in engine.trunk.shapes) * (
        len(prompt) + new // 2
    )
    read = weights - embedding.nbytes + rows
    report.add(section, "plain decoding", rate, "tokens/s", note=f"width 1, {min(rates):.1f} to {max(rates):.1f}")
    report.add(section, "bytes read a token", read / 1e9, "GB")
    report.add(section, "share of roofline", read * rate / bandwidth, note="of a measured copy on the device")
    report.add(section, "plain round", median(steps), "ms", note=engine.graph_state)
    _forward_time(report, section, engine)
    engine.close()
    return rate, median(steps)


def _forward_time(report: Report, section: str, engine: Engine) -> None:
    """What one replay of each graph takes on the device."""
    path = engine.device_path
    for width in () if path is None else path.graphs.widths:
        assert path is not None
        with torch.inference_mode():
            inputs = path.graphs.inputs(width)
            inputs.zero_()
            inputs[1:3] = torch.tensor([PROMPT, PROMPT + width - 1], device=inputs.device)
            spent = device_ms(lambda w=width: path.graphs.replay(w), inputs.device, 20)  # type: ignore[misc]
        report.add(section, f"forward at width {width}, on the device", spent, "ms")


def _speculative(
    report: Report,
    clock: Clock,
    section: str,
    engine: Engine,
    shape: Shape,
    prompt: Sequence[int],
    new: int,
    plain_rate: float,
    plain_ms: float,
) -> None:
    """Rounds at W: their time, and the speed-up at set acceptances."""
    _, _, text = decode(engine, "none", 0, prompt, 2 * new)
    whole = [*prompt, *text]
    for k in DRAFT_LENGTHS:
        for right in ACCEPTANCES:
            clock.check()
            drafter = OracleDrafter(whole, right, shape.vocab)
            rate, events, tokens = decode(engine, drafter, k, prompt, new)
            tokens = tokens[: len(text)]
            same = tokens == text[: len(tokens)]
            drafted = sum(len(event.drafted) for event in events)
            tested = sum(event.accepted + event.correction for event in events)
            seen = sum(event.accepted for event in events) / max(tested, 1)
            note = f"{rate:.1f} tokens/s, {seen:.2f} of the drafts tested held, {drafted} drafted"
            report.add(section, f"speed-up at {right}, K={k}", rate / plain_rate, "x", ok=same, note=note)
            if (k, right) == (4, 0.8):
                _split(report, section, events, plain_ms)
    _forward_time(report, section, engine)


def _split(report: Report, section: str, events: Sequence[RoundEvent], plain_ms: float) -> None:
    """Where the host's clock goes in a round; the wait for the device is in `accept`, which reads."""
    parts = {
        "draft": median(event.draft_ms for event in events),
        "verify": median(event.verify_ms for event in events),
        "accept, the wait for the device": median(event.accept_ms for event in events),
        "host": median(event.host_ms for event in events),
    }
    for name, spent in parts.items():
        report.add(section, f"round, K=4: {name}", spent, "ms")
    report.add(section, "round, K=4, over a plain round", sum(parts.values()) / plain_ms, "x")


def decode(
    engine: Engine, drafter: str | Drafter, draft_len: int, prompt: Sequence[int], new: int
) -> tuple[float, list[RoundEvent], list[int]]:
    """Tokens per second after the first one, the rounds, and every token."""
    session = engine.new_session(drafter, draft_len)
    try:
        first = generate_spec_session(session, prompt, 1, ignore_eos=True).tokens
        _wait(engine.trunk.device)
        start = time.perf_counter()
        tokens = generate_spec_session(session, [], new, ignore_eos=True).tokens
        spent = time.perf_counter() - start
        return len(tokens) / spent, session.trace.of(RoundEvent), first + tokens
    finally:
        session.close()


def _generate(
    report: Report,
    section: str,
    shape: Shape,
    device: torch.device,
    dtype: torch.dtype,
    prompt: Sequence[int],
    new: int,
    plain_rate: float,
) -> None:
    """transformers' own decoding of the same shape."""
    arm = GenerateArm("generate", checkpoint(shape, device, dtype, stock=True).model)
    arm.run([list(prompt)], 2)
    turn = arm.run([list(prompt)], new).turns[0]
    rate = turn.decode_tokens / turn.decode_seconds
    report.add(
        section, "transformers.generate", rate, "tokens/s", note=f"plain here is {plain_rate / rate:.2f} times it"
    )


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
