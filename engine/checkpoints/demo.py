"""The checkpoint `demo`: made on the spot in a second, so that the page can be looked at without any download.

It understands nothing. Which word follows which is taken from the short text below: every token has a random vector, by
which the output knows it, and its embedding is the sum of the vectors of those that follow it in the text; random
vectors are nearly at right angles (Johnson and Lindenstrauss 1984), so the output finds them again. Small random layers
between make it wander. One seed makes the same weights on every machine: they are sums in a fixed order.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from engine.checkpoints.cache_folder import cache_root, partial_folder, publish
from engine.checkpoints.gguf import usable

FORMAT = 1
"""Counted up when the same seed would make another checkpoint."""
END, BEGIN, PAD = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
VOCAB, WIDTH, LAYERS, HEADS, CONTEXT = 640, 128, 2, 4, 4096
SEED = 20
END_WEIGHT = 3.0
"""How readily a sentence's end is the answer's, beside the beginnings of the text's sentences."""
WANDER = 1.15
"""Gain of the random layers: with 0 the greedy text is one short loop."""
UNSEEN = 0.3
"""How loud, beside the others, a token is that follows none in the text."""
SHARP = 1.0
"""Length of the output's vectors: how clearly the text's own order wins when sampled."""
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TEXT = (
    "A small drafter guesses the next tokens, and the model checks all of them at once.",
    "The model keeps the guesses that it would have made itself, and puts its own token after them.",
    "When the first guess is wrong, the round still gives one token, so nothing is lost but a little time.",
    "When all guesses are right, the round gives one token more than was guessed.",
    "A round costs about as much as a plain step, because the model waits for its weights and not for its sums.",
    "The last token of a round has no row in the caches yet, so it is carried into the next round.",
    "A rewind goes back to a point whose rows are kept, and the next answer begins there.",
    "Tokens past the end of an answer are held back until someone asks for more.",
    "The text is the same with and without a drafter; only the time is not.",
    "The more a text repeats itself, the better a drafter that looks for repeats can guess.",
    "This little model knows one page of words, and says them in an order that sounds right for a while.",
    "It was made a moment ago, it has never read a book, and it does not know what you have asked.",
    "Look at the tokens, at the rounds, and at the caches: those are real.",
    "Load another model to hear something that makes sense.",
)


def demo_folder() -> Path:
    """The checkpoint's folder in the cache, made if it is not there. Raises `CheckpointError` if it cannot be."""
    final = cache_root() / "made" / f"demo-v{FORMAT}"
    if not usable(final):
        shutil.rmtree(final, ignore_errors=True)
        with partial_folder() as partial:
            build(partial)
            publish(partial, final)
    return final


def build(folder: Path) -> None:
    """Write weights, configuration and tokenizer into an empty folder."""
    transformers_logging.disable_progress_bar()  # it would be gone before anyone can read it
    tokenizer = _tokenizer()
    ids = {
        "bos_token_id": tokenizer.convert_tokens_to_ids(BEGIN),
        "eos_token_id": tokenizer.convert_tokens_to_ids(END),
        "pad_token_id": tokenizer.convert_tokens_to_ids(PAD),
    }
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        dtype="float32",
        **ids,
    )
    model = LlamaForCausalLM(config)
    _fill(model, _followers(tokenizer))
    model.generation_config = GenerationConfig(**ids)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=[PAD, BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator([f" {text}" for text in TEXT], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[BEGIN, END],
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _followers(tokenizer: PreTrainedTokenizerFast) -> Iterator[tuple[int, int, float]]:
    """Each token of the text, the one after it, and how much that counts."""
    (newline,), stop = tokenizer.encode("\n"), tokenizer.encode(" a.")[-1]
    for sentence in TEXT:
        tokens = tokenizer.encode(f" {sentence}")
        for before, after in pairwise(tokens):
            yield before, after, 1.0
        yield newline, tokens[0], 1.0  # an answer begins with a sentence, and so does what follows one
        yield stop, tokens[0], 1.0
    yield stop, int(tokenizer.convert_tokens_to_ids(END)), END_WEIGHT


def _fill(model: LlamaForCausalLM, followers: Iterable[tuple[int, int, float]]) -> None:
    random = torch.Generator().manual_seed(SEED)
    vectors = torch.nn.functional.normalize(torch.randn(VOCAB, WIDTH, generator=random, dtype=torch.float64), dim=1)
    embedding = 0.01 * torch.randn(VOCAB, WIDTH, generator=random, dtype=torch.float64)  # of tokens not in the text
    output = UNSEEN * vectors
    for before, after, weight in followers:
        embedding[before] += weight * vectors[after]
        output[after] = vectors[after]
    with torch.no_grad():
        for name, weights in sorted(model.named_parameters()):
            if "norm" in name:
                weights.fill_(1.0)
            elif "embed_tokens" in name:
                weights.copy_(torch.nn.functional.normalize(embedding, dim=1) * math.sqrt(WIDTH))
            elif "lm_head" in name:
                weights.copy_(output * SHARP)
            else:
                noise = torch.randn(weights.shape, generator=random)
                weights.copy_(noise * WANDER / math.sqrt(weights.shape[-1]))
