"""Writes a checkpoint of train.py as a folder in the layout of transformers (ParakeetForTDT, float16), with the CTC head's two tensors (ctc_head.*) beside
TDT's own; `backplane model convert FOLDER -o OUT.gguf --dtype q8_0` makes the published file of it.

Usage: python3 export.py checkpoint.pt pieces.model FOLDER
"""
import json
import os
import struct
import sys

import sentencepiece
import torch

import network
from network import BLANK

KINDS = {torch.float16: "F16", torch.float32: "F32", torch.int64: "I64"}


def safetensors(state, path):
    header, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, value in sorted(state.items()):
        data = value.contiguous().numpy().tobytes()
        header[name] = {"dtype": KINDS[value.dtype], "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(parts)


def tokenizer(pieces):
    names = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
    assert len(names) == BLANK
    place = {name: i for i, name in enumerate(names)}
    merges = [[name[:at], name[at:]] for name in names[1:] for at in range(1, len(name)) if name[:at] in place and name[at:] in place]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    special = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": 0, "content": "<unk>", **special}, {"id": BLANK, "content": "<blank>", **special}],
            "normalizer": None, "pre_tokenizer": metaspace, "post_processor": None, "decoder": metaspace,
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                      "byte_fallback": True, "ignore_merges": False, "vocab": place, "merges": merges}}


def configuration():
    encoder = {"model_type": "parakeet_encoder", "hidden_size": network.WIDTH, "num_hidden_layers": network.LAYERS, "num_attention_heads": network.HEADS,
               "num_key_value_heads": network.HEADS, "intermediate_size": network.FEED_FORWARD, "hidden_act": "silu", "attention_bias": True,
               "convolution_bias": True, "conv_kernel_size": network.KERNEL, "subsampling_factor": 8, "subsampling_conv_channels": network.CHANNELS,
               "subsampling_conv_kernel_size": 3, "subsampling_conv_stride": 2, "num_mel_bins": network.MELS, "scale_input": True,
               "max_position_embeddings": 5000, "dropout": 0., "dropout_positions": 0., "layerdrop": 0., "activation_dropout": 0., "attention_dropout": 0.,
               "initializer_range": .02}
    return {"architectures": ["ParakeetForTDT"], "model_type": "parakeet_tdt", "dtype": "float16", "vocab_size": BLANK + 1, "blank_token_id": BLANK,
            "pad_token_id": BLANK, "decoder_hidden_size": network.WIDTH, "num_decoder_layers": 1, "durations": list(range(network.DURATIONS)),
            "max_symbols_per_step": 10, "hidden_act": "relu", "is_encoder_decoder": True, "initializer_range": .02, "encoder_config": encoder}


PROCESSOR = {"processor_class": "ParakeetProcessor", "decoder_type": "tdt", "blank_token": "<blank>", "feature_extractor": {
    "feature_extractor_type": "ParakeetFeatureExtractor", "feature_size": network.MELS, "sampling_rate": 16000, "hop_length": 160, "n_fft": 512,
    "win_length": 400, "preemphasis": .97, "padding_side": "right", "padding_value": 0., "return_attention_mask": True}}
TOKENIZER = {"tokenizer_class": "ParakeetTokenizer", "processor_class": "ParakeetProcessor", "backend": "tokenizers", "clean_up_tokenization_spaces": False,
             "pad_token": "<blank>", "unk_token": "<unk>"}


def main():
    checkpoint, pieces, folder = sys.argv[1:4]
    state = torch.load(checkpoint, map_location="cpu")["model"]
    network.Parakeet().load_state_dict(state)
    os.makedirs(folder, exist_ok=True)
    safetensors({name: value.half() if value.is_floating_point() else value for name, value in state.items()}, folder + "/model.safetensors")
    written = {"config": configuration(), "tokenizer": tokenizer(sentencepiece.SentencePieceProcessor(model_file=pieces)),
               "processor_config": PROCESSOR, "tokenizer_config": TOKENIZER}
    for name, value in written.items():
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2, ensure_ascii=False)


if __name__ == "__main__":
    main()
