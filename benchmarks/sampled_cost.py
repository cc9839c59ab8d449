"""What sampling adds to a round: `python -m benchmarks.sampled_cost`, on the default checkpoint.

Greedy, rejection and coupled bursts of one conversation in turn, in one run, so that a busy moment falls on all. Costs
are compared by median at equal width: one forward, and what each mode does around it.
"""

from __future__ import annotations

import argparse
from statistics import median

from benchmarks.conversations import CONVERSATIONS
from benchmarks.prompts import suffixes
from engine import (
    Engine,
    SamplingParams,
    SpecSession,
    generate_spec_session,
    generate_spec_session_sampled,
    load_engine,
)
from engine.events import RoundEvent

BURST = 8
SETTINGS = {
    "temperature 0.8": SamplingParams(temperature=0.8, seed=1),
    "top-k 50, top-p 0.9": SamplingParams(temperature=0.8, top_k=50, top_p=0.9, seed=1),
    "top-p 0.9, repetition 1.1": SamplingParams(temperature=0.8, top_p=0.9, repetition_penalty=1.1, seed=1),
}
ALLOWED = {"rejection": 1.10, "coupled": 1.20}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--bursts", type=int, default=12, help="bursts of each kind and setting, in turn")
    options = parser.parse_args()
    engine = load_engine(options.model, drafter="ngram")
    print(f"{'settings':28} {'mode':10} {'width':>5} {'rounds':>6} {'round ms':>9} {'x greedy':>9}  at most")
    for name, params in SETTINGS.items():
        report(name, measured(engine, params, options.bursts))


def measured(engine: Engine, params: SamplingParams, bursts: int) -> dict[str, list[RoundEvent]]:
    """Rounds by mode, of sessions that take turns burst by burst."""
    prompt = suffixes(engine.tokenizer, CONVERSATIONS[0].messages)[0]
    sessions: dict[str, SpecSession] = {mode: engine.new_session() for mode in ("greedy", "rejection", "coupled")}
    for number in range(bursts):
        for mode, session in sessions.items():
            suffix = [] if number else prompt
            if mode == "greedy":
                generate_spec_session(session, suffix, BURST, ignore_eos=True)
            else:
                verify = "rejection" if mode == "rejection" else "coupled"
                generate_spec_session_sampled(session, suffix, BURST, params, verify=verify, ignore_eos=True)
    rounds = {mode: session.trace.of(RoundEvent) for mode, session in sessions.items()}
    for session in sessions.values():
        session.close()
    return rounds


def report(name: str, rounds: dict[str, list[RoundEvent]]) -> None:
    """One line per mode and width that greedy rounds had too."""
    for width in sorted({event.width for event in rounds["greedy"]}):
        forward = median(e.verify_ms for kind in rounds.values() for e in kind if e.width == width)
        greedy = [forward + around(event) for event in rounds["greedy"] if event.width == width]
        for mode, events in rounds.items():
            costs = [forward + around(event) for event in events if event.width == width]
            if len(costs) >= 3:
                ratio, most = median(costs) / median(greedy), ALLOWED.get(mode)
                bound = "" if most is None else f"{most:.2f} {'met' if ratio <= most else 'NOT met'}"
                print(f"{name:28} {mode:10} {width:5} {len(costs):6} {median(costs):9.2f} {ratio:8.3f}x  {bound}")


def around(event: RoundEvent) -> float:
    """Milliseconds of a round outside its forward."""
    return event.draft_ms + event.accept_ms + event.host_ms


if __name__ == "__main__":
    main()
