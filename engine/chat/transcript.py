"""What was said in a conversation, as plain frozen values: questions, and the answers as they were generated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.chat.prompt import Answer, Message
from engine.errors import EngineError, SessionStateError


@dataclass(frozen=True)
class Exchange:
    """A user message and its answer; only the last exchange of a conversation may lack one."""

    question: str
    answer: Answer | None = None


@dataclass(frozen=True)
class Transcript:
    """A conversation. Every method returns a new one."""

    system: str | None = None
    exchanges: tuple[Exchange, ...] = ()

    @property
    def messages(self) -> list[Message]:
        """As `{"role", "content"}`, the system message first if there is one."""
        out = [{"role": "system", "content": self.system}] if self.system else []
        for exchange in self.exchanges:
            out.append({"role": "user", "content": exchange.question})
            if exchange.answer is not None:
                out.append({"role": "assistant", "content": exchange.answer.text})
        return out

    @property
    def answers(self) -> dict[int, Answer]:
        """Answers by their index in `messages`; one that is known as text alone is left out."""
        first = 2 if self.system else 1
        known = ((first + 2 * i, e.answer) for i, e in enumerate(self.exchanges) if e.answer is not None)
        return {index: answer for index, answer in known if answer.ids or not answer.text}

    @property
    def waiting(self) -> bool:
        """Whether the last user message has no answer."""
        return bool(self.exchanges) and self.exchanges[-1].answer is None

    @property
    def last_answer(self) -> Answer:
        """The last answer. Raises AssertionError while the last user message waits for one."""
        answer = self.exchanges[-1].answer
        assert answer is not None
        return answer

    def same_question(self, other: Transcript, turn: int) -> bool:
        """Whether both ask their model the same with user message number `turn`: it, and all before it, are equal."""
        mine, theirs = self.exchanges[: turn + 1], other.exchanges[: turn + 1]
        if self.system != other.system or not len(mine) == len(theirs) == turn + 1:
            return False
        return mine[:-1] == theirs[:-1] and mine[-1].question == theirs[-1].question

    def asked(self, text: str) -> Transcript:
        """With a new user message; it takes the place of one that waits for its answer."""
        kept = self.exchanges[:-1] if self.waiting else self.exchanges
        return replace(self, exchanges=(*kept, Exchange(text)))

    def edited(self, turn: int, text: str) -> Transcript:
        """With another user message number `turn` and nothing after it. Raises `EngineError` if there is none."""
        count = len(self.exchanges)
        if isinstance(turn, bool) or not isinstance(turn, int) or not 0 <= turn < count:
            there = f"the conversation's are numbered 0 to {count - 1}" if count else "there is none yet, so call send"
            raise EngineError(f"There is no user message {turn!r} to edit; {there}.")
        return replace(self, exchanges=(*self.exchanges[:turn], Exchange(text)))

    def reopened(self) -> Transcript:
        """Without the last answer. Raises `SessionStateError` if nothing was said."""
        if not self.exchanges:
            raise SessionStateError("There is no message to answer again yet; call send.")
        return self.first(len(self.exchanges))

    def first(self, count: int) -> Transcript:
        """The first `count` >= 1 exchanges, the last of them without its answer."""
        kept = self.exchanges[:count]
        return replace(self, exchanges=(*kept[:-1], Exchange(kept[-1].question)))

    def answered(self, answer: Answer) -> Transcript:
        """With `answer` to the last user message, in place of any that it had."""
        return replace(self, exchanges=(*self.exchanges[:-1], replace(self.exchanges[-1], answer=answer)))
