"""Small tokenizers, one of each kind that decodes its own way: bytes, byte fallback, Metaspace, WordPiece."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.factories import build_tokenizer

WORDS = ["Hello", "world", "▁", "▁Hello", "▁wor", "ld", "▁a", "b", "c", "!", "▁▁"]


def _fast(core: Tokenizer, special: list[str]) -> PreTrainedTokenizerFast:
    core.add_special_tokens(special)
    return PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def byte_fallback_tokenizer() -> PreTrainedTokenizerFast:
    """As Llama 2: a space in front of each text, unknown characters as bytes, one leading space stripped."""
    pieces = ["<unk>", "<s>", "</s>", *[f"<0x{b:02X}>" for b in range(256)], *WORDS, *"abdeHlorw"]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    core = Tokenizer(models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    core.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return _fast(core, ["<unk>", "<s>", "</s>"])


def metaspace_tokenizer() -> PreTrainedTokenizerFast:
    """A Unigram vocabulary with a space in front of the first word only, and no bytes."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *[(w, -3.0) for w in WORDS]]
    pieces += [(c, -5.0) for c in "abdeHlorw你好é🙂"]
    core = Tokenizer(models.Unigram([*dict(pieces).items()], unk_id=0, byte_fallback=False))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    core.decoder = decoders.Metaspace(prepend_scheme="first")
    return _fast(core, ["<unk>", "<s>", "</s>"])


def wordpiece_tokenizer() -> PreTrainedTokenizerFast:
    vocab = {w: i for i, w in enumerate(["<unk>", "<s>", "</s>", "hello", "wor", "##ld", "!", "##s"])}
    core = Tokenizer(models.WordPiece(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    core.decoder = decoders.WordPiece(cleanup=False)
    return _fast(core, ["<unk>", "<s>", "</s>"])


TOKENIZERS = {
    "byte-level": build_tokenizer(),
    "byte-fallback": byte_fallback_tokenizer(),
    "metaspace": metaspace_tokenizer(),
    "wordpiece": wordpiece_tokenizer(),
}
