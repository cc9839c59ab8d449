"""What a conversation says when it cannot do what was asked, or when something ended otherwise than planned."""

from __future__ import annotations

BUSY = "This conversation is already answering; wait for the end or press Stop. Your message was not sent."
CHECKING = "This conversation is being checked; wait for the end or press Stop. Your message was not sent."
PASSING = (BUSY, CHECKING)
"""True only while something runs: a page takes these back at the end."""
STOPPED = "Stopped before the first token; the message is back in its box."
UNCHANGED = "Stopped before the first token; the conversation reads as before."
NO_MORE = "This conversation was deleted, or is not kept any more; New begins another."
NOTHING = "There is no message to answer yet; send one first."
NOTHING_TO_CHECK = "There is no answer to check yet; send a message first."
NOT_READ_YET = "What is shown is not in the caches yet, so there is nothing to compare; send a message first."
OUT_OF_MEMORY = (
    "The memory ran out, so the answer ended and the conversation is as it was before; clear a conversation, or start "
    "the app with fewer --slots or a smaller --max-ctx."
)
UNEXPECTED = (
    "Something went wrong inside the app; the conversation is as it was before. The server's log has the details."
)
