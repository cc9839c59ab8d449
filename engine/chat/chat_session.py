"""`ChatSession`: a conversation over one speculative session, by messages instead of ids."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from engine.chat.answer_text import AnswerText
from engine.chat.last_answer import LastAnswer, new_text
from engine.chat.prompt import Answer, Message
from engine.chat.reposition import prompt_for, reposition
from engine.chat.rewind_targets import RewindTarget, RewindTargets
from engine.chat.transcript import Transcript
from engine.chat.turn import Turn, TurnRun
from engine.chat.turn_settings import TurnDelta, TurnOptions, TurnSettings, require_text
from engine.errors import SessionStateError
from engine.events import Reason
from engine.rewind import reset, spec_rewind_to_checkpoint
from engine.sampling import SamplingParams

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.session import SpecSession

__all__ = ["ChatSession", "RewindTarget", "Turn", "TurnDelta"]


class ChatSession:
    """Turns of a conversation: renders the checkpoint's template, reuses the caches, streams certain text.

    The greedy text depends neither on the drafter, nor on K, nor on the burst size, with stop strings or without; and
    no prompt depends on overshoot, which a new message drops and a continuation shows first.

    Stop strings (`stop`, at most 16 of at most 1,000 characters): the first to complete in an answer's text ends it,
    reason `stop`. Neither it nor anything after it is shown: text and tokens are held back for as long as they
    could belong to one. The session is truncated to the tokens that lie wholly before the match. If the match
    begins inside a token, the part of that token before it is shown, and the next prompt has it as text.
    """

    def __init__(self, engine: Engine, system: str | None = None) -> None:
        """`system` becomes the first message. Some templates refuse one, which the first `send` then says."""
        self.engine = engine
        self.session: SpecSession = engine.new_session()
        self._talk = Transcript(system or None)
        self._last = LastAnswer(self.session)
        self._targets = RewindTargets(self.session)
        self._busy = threading.Lock()

    @property
    def messages(self) -> list[Message]:
        """The conversation as `{"role", "content"}`, system message included: a copy. Changes as a turn ends."""
        return self._talk.messages

    @property
    def turn(self) -> Turn | None:
        """The last turn that showed something; None before the first, and after a rewind or `clear`."""
        return self._last.turn

    @property
    def can_continue(self) -> bool:
        """Whether `continue_turn` is valid.

        So it is when the last answer ended by its budget or was stopped, and is in the caches; and after a rewind.
        """
        return self._talk.waiting or self._last.resumable

    @property
    def rewind_targets(self) -> list[RewindTarget]:
        """Where `rewind` can go, ascending."""
        return self._targets.retained()

    def send(
        self,
        text: str,
        max_new: int = 256,
        sampling: SamplingParams | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Answer `text` with at most `max_new` tokens; `TurnSettings` says what the options mean.

        Stopped before its first token, a turn leaves no message.
        After any other error what was generated stays, in `messages` and in the session.
        After a rewind `text` takes the place of the last user message, which has no answer.

        Raises:
            EngineError: empty text, an argument out of range, or a template that refuses the conversation.
            ContextFull: the prompt does not fit; nothing changed.
            SessionStateError: another turn runs.
        """
        settings = TurnSettings(max_new=max_new, sampling=sampling, **options)
        require_text(text)
        with self._exclusive():
            return self._answer(self._shown().asked(text), settings)

    def continue_turn(
        self, max_new: int = 256, sampling: SamplingParams | None = None, **options: Unpack[TurnOptions]
    ) -> Turn:
        """Go on with an answer that was cut short: first its overshoot, already computed, then more bursts.

        The `Turn` is the continuation alone; `messages` has the joined text. A stop string may begin in what the turn
        before held back: then some of that turn's tokens are taken back, and `start` says from where. After a rewind
        there is no answer yet, and this begins it, as `regenerate` does.

        Raises:
            EngineError: an argument is out of range.
            ContextFull: no row is left; nothing changed.
            SessionStateError: there is nothing to continue, or another turn runs.
        """
        settings = TurnSettings(max_new=max_new, sampling=sampling, **options)
        with self._exclusive():
            if not self.can_continue:
                raise SessionStateError(
                    "There is no answer to continue: only one that ended by its length or by a stop can be; call send."
                )
            if self._talk.waiting:
                return self._answer(self._talk, settings)
            last = self._last
            run = TurnRun(self.session, last.text, settings, last.shown_end)
            if not run.poll():
                return run.as_turn("cancelled")
            reason: Reason = "cancelled"
            try:
                run.resume(last.hidden, last.hidden_origin)
                reason = run.run((), None, None)
            finally:
                turn = run.as_turn(reason)
                if run.tokens or run.text or turn.reason == "stop":
                    self._adopt(self._talk, run, turn, last.text, self._talk.last_answer)
            return turn

    def regenerate(
        self, max_new: int = 256, sampling: SamplingParams | None = None, **options: Unpack[TurnOptions]
    ) -> Turn:
        """Drop the last answer and answer its message again, as a new turn in the trace.

        The session goes back to the prompt's end, whose checkpoint has the logits, so nothing is computed before the
        first token. Where that checkpoint is gone, the `turn` event says what was kept instead and why; rows that
        were evicted are computed again, which the trace says too. Stopped before its first token, the old answer
        stays in `messages`, and the next turn computes its rows again if they were dropped.

        Raises:
            EngineError: an argument is out of range.
            SessionStateError: nothing was said yet, or another turn runs.
        """
        settings = TurnSettings(max_new=max_new, sampling=sampling, **options)
        with self._exclusive():
            return self._answer(self._talk.reopened(), settings)

    def edit(
        self,
        turn: int,
        text: str,
        max_new: int = 256,
        sampling: SamplingParams | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Replace user message number `turn`, counted from 0, drop everything after it, and answer it.

        Stopped before its first token, an edit leaves `messages` as they were. Otherwise as `send`.

        Raises:
            EngineError: there is no such message; else as `send` does.
        """
        settings = TurnSettings(max_new=max_new, sampling=sampling, **options)
        require_text(text)
        with self._exclusive():
            return self._answer(self._shown().edited(turn, text), settings)

    def rewind(self, pos: int) -> int:
        """Go back to a retained point, one of `rewind_targets`, and return it. The messages follow.

        At a prompt's end that prompt's user message is the last one; its answer and everything later are gone. Before
        an assistant header it is the same, but the header's rows are gone too and its few ids are prefilled again.
        Either way `continue_turn` and `regenerate` answer that message, and `send` replaces it.

        Raises:
            SessionStateError: `pos` is not retained, or another turn runs; nothing changed.
        """
        with self._exclusive():
            target = self._targets.at(pos)
            spec_rewind_to_checkpoint(self.session, pos)
            self._talk = self._talk.first(target.turn + 1)
            self._last = LastAnswer(self.session)
            return pos

    def set_system(self, text: str | None) -> None:
        """Replace the system message, or remove it. The next prompt has it; rows are compared and computed then.

        Raises `SessionStateError` while a turn runs.
        """
        with self._exclusive():
            self._talk = replace(self._talk, system=text or None)

    @property
    def transcript(self) -> Transcript:
        """What was said, with the ids of the answers: what `restore` takes."""
        return self._talk

    def restore(self, transcript: Transcript) -> None:
        """Go on with another conversation, an earlier one or another branch of this one.

        Nothing is computed: the next message finds out, by ids, which rows still serve. Answers whose ids are empty
        are taken as text. Raises `SessionStateError` while a turn runs.
        """
        with self._exclusive():
            former, self._talk = self._talk, transcript
            self._last = LastAnswer(self.session)
            self._targets.keep(lambda turn: transcript.same_question(former, turn))

    def clear(self) -> None:
        """Forget the conversation, except for the system message. Raises `SessionStateError` while a turn runs."""
        with self._exclusive():
            reset(self.session, "clear")
            self._talk = Transcript(self._talk.system)
            self._last = LastAnswer(self.session)

    def _answer(self, asked: Transcript, settings: TurnSettings) -> Turn:
        """Answer the last message of `asked`, which becomes the conversation as soon as something came of it."""
        hidden = self._last.hidden
        prompt = prompt_for(self.session, asked, self._history_before(asked))
        text = new_text(self.session, settings.stops)
        run = TurnRun(self.session, text, settings, len(prompt.ids))
        if not run.poll():  # before anything is dropped or rewound
            return run.as_turn("cancelled")
        reason: Reason = "cancelled"
        try:
            self._last.drop_hidden()
            event, suffix, checkpoint_at = reposition(self.session, prompt, len(hidden))
            reason = run.run(suffix, checkpoint_at, event)
        finally:
            turn = run.as_turn(reason)
            if run.tokens or turn.reason == "stop":
                self._adopt(asked, run, turn, text, Answer((), ""))
                self._targets.note(len(asked.exchanges) - 1, len(prompt.ids), prompt.checkpoint_at)
        return turn

    def _adopt(self, talk: Transcript, run: TurnRun, turn: Turn, text: AnswerText, before: Answer) -> None:
        """Take over what `run` showed, behind what the answer had `before`."""
        ids = (*before.ids, *run.tokens)[: text.kept if run.found else None]
        self._talk = talk.answered(Answer(ids, before.text + run.text, text.rest))
        self._last.settle(run, turn, text)

    def _history_before(self, asked: Transcript) -> list[int]:
        """What the session holds of `asked`, as far as it was shown."""
        history = self.session.history
        shown = history[: len(history) - len(self._last.hidden)]
        turn = len(asked.exchanges) - 1
        before = self._talk.exchanges[turn : turn + 1]
        again = bool(before) and before[0].question == asked.exchanges[turn].question
        return shown[: self._targets.prompt_end(turn) if again else None]

    def _shown(self) -> Transcript:
        """The conversation as a new message finds it.

        What was held back as the possible beginning of a stop string is shown: nothing completes it any more.
        """
        held = self._last.held
        if not held or self._talk.waiting:
            return self._talk
        answer = self._talk.last_answer
        return self._talk.answered(replace(answer, text=answer.text + held))

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise SessionStateError("A turn is running in this conversation; wait for its end or stop it first.")
        try:
            yield
        finally:
            self._busy.release()
