"""The fixed conversations, by category: three user messages each. Changing one changes every figure."""

from __future__ import annotations

from dataclasses import dataclass

_TEXT = """\
The tram to Holm Point opened on 4 May 1911, and for most of a century nobody thought of it as anything but the \
way to the harbour. It left the market square at ten minutes past every hour, climbed past the brewery and the \
old grammar school, stopped at the hospital gate, and then ran downhill for two miles beside the sea wall. The \
fare was twopence. Fishermen rode free before six in the morning, on the understanding that their baskets stayed \
on the rear platform.

The line was built by a company of eleven shopkeepers, none of whom had built anything before. They hired an \
engineer named Ada Merrick, who had just finished a mountain railway and was looking for something flatter. She \
found that the ground beside the sea wall was mostly sand, and that sand moves. Her answer was to lay the rails \
on a floor of oak planks, so that the whole track could shift a little without breaking. The shopkeepers \
complained about the price of the oak until the winter of 1913, when a storm took away the coast road and left \
the tramway where it was.

In its best year, 1928, the tramway carried nine hundred thousand passengers with seven cars and forty staff. \
Each car had a name instead of a number: Heron, Gull, Curlew, Plover, Tern, Petrel and Old Margaret. Old \
Margaret had been bought second-hand from a town in the south, and her doors were on the wrong side, so that \
passengers at Holm Point had to walk around her in the rain. The staff kept a list of the excuses that people \
gave for travelling without a ticket. The list still exists, and its longest entry concerns a goat.

After the war the buses came. They were faster, they went up side streets, and they did not stop when a wave \
came over the wall. The council bought the company in 1951, sold three cars in 1954, and closed the line on the \
last Sunday of September 1959. About four thousand people came to ride on that day, most of them twice. The \
conductor of the final car, Tom Ferris, refused to collect fares after noon. He said that he had taken enough of \
the town's money and that it was time the town had some of it back.

The rails were lifted for scrap, but the oak floor proved too heavy to remove and was left under the promenade. \
It was forgotten until 2007, when workmen digging for a drain struck wood that was as hard as the day it was \
laid. A group of residents then asked whether the line could run again. The council laughed, and then it asked \
for figures. The figures said that a tram beside the sea would cost eleven million, carry two hundred thousand \
visitors a year, and never pay for itself, but that the car park it would replace did not pay for itself either. \
In 2016 a single car, newly built and named Young Margaret, left the market square at ten minutes past ten. Her \
doors are on both sides."""


@dataclass(frozen=True)
class Conversation:
    """Three user messages of one kind."""

    name: str
    category: str
    messages: tuple[str, ...]


CONVERSATIONS = (
    Conversation(
        "running",
        "chat",
        (
            "I would like to start running, but I have never done any sport. How should I begin, and what should I "
            "watch out for in the first month?",
            "What should I eat before a run in the morning, and what should I eat after it?",
            "Please make a plan for my first week, day by day.",
        ),
    ),
    Conversation(
        "stack",
        "code",
        (
            "Write a Python class `Stack` with the methods `push`, `pop`, `peek` and `is_empty`, each with a "
            "docstring.",
            "Write the class again with type hints, and raise IndexError with a clear message when the stack is empty.",
            "Write a test with pytest for every method of the class.",
        ),
    ),
    Conversation(
        "tramway",
        "edit",
        (
            "Read this text and then answer my question.\n\n"
            + _TEXT
            + "\n\nWhy did the tramway close in 1959, and why was it built again in 2016?",
            "Summarise the whole text in five sentences.",
            "Who was Ada Merrick, and how did she build the line?",
        ),
    ),
    Conversation(
        "lines",
        "repetition",
        (
            "Write the numbers from 1 to 40 as a list, one per line, like this: Item 1 is ready.",
            "Write the same list again, but with the word finished instead of ready.",
            "Write the list once more, and start at 101.",
        ),
    ),
)

CATEGORIES = tuple(dict.fromkeys(conversation.category for conversation in CONVERSATIONS))
TURNS = min(len(conversation.messages) for conversation in CONVERSATIONS)
