"""What a checkpoint makes of the examinations, on the CPU: word error rates in percent (CTC, TDT), and how far the starts of words are from the
synthesiser's own (espeak-ng says when it begins a word).

Usage: python3 synthesise.py sentences.txt FOLDER 0 0 --exam
       python3 examine.py checkpoint.pt pieces.model FOLDER [folder of pocketsphinx-testdata's data] [sentences.txt]
"""
import random
import sys

import numpy as np
import sentencepiece
import torch

import network
import sound
import synthesise
import train
import voices

FRAME = .08  # seconds


def starts(steps, pieces):
    """(word, second) of each word of a clip's (piece, frame)."""
    words = []
    for piece, frame in steps:
        text = pieces.id_to_piece(piece)
        if text.startswith("▁") or not words:
            words.append([text.lstrip("▁"), frame * FRAME])
        else:
            words[-1][0] += text
    return words


def word_times(model, front, pieces, sentences, count=100):
    """For both heads the median and the 90th percentile of seconds between a word's start and where it is found, and the median with its sign."""
    reader, generator = voices.Espeak(), random.Random(4)
    apart = [[], []]
    for sentence in [text for text in synthesise.sentences(sentences)[0] if text.count(" ") >= 4][:count]:
        samples = reader.speak(sentence, "gmw/en-US+" + generator.choice(["m1", "m3", "f2", "f4"]), 160)
        events = {place: second for second, place, _ in reader.words if place >= 0}
        heard = torch.zeros(1, -(-len(samples) // train.STRIDE) * train.STRIDE)
        heard[0, :len(samples)] = torch.from_numpy(samples / 32768)
        with torch.no_grad():
            features, frames = front.features(heard, torch.tensor([len(samples)]))
            encoded = model.encoder(features, frames)
        counts = network.counts_behind(frames)
        for head, decode in enumerate((model.decode_ctc, model.decode_tdt)):
            found = starts(decode(encoded, counts)[0], pieces)
            if [word for word, _ in found] != sentence.split():
                continue
            at = 0
            for word, second in found:
                if at in events:
                    apart[head].append(second - events[at])
                at += len(word) + 1
    return [f"{np.median(np.abs(one)):.3f} s median, {np.percentile(np.abs(one), 90):.3f} s 90th percentile, {np.median(one):+.3f} s with its sign, "
            f"{len(one)} words" for one in apart]


def main():
    checkpoint, model_of_pieces, folder = sys.argv[1:4]
    torch.set_num_threads(1)
    saved = torch.load(checkpoint, map_location="cpu")
    model = network.Parakeet().eval()
    model.load_state_dict({name: value.float() if value.is_floating_point() else value for name, value in saved["model"].items()})
    pieces, front = sentencepiece.SentencePieceProcessor(model_file=model_of_pieces), sound.Sound("cpu")
    clips = {name: train.exam_clips(f"{folder}/{name}.npz") for name in synthesise.EXAMS}
    if len(sys.argv) > 4:
        clips.update(train.real_clips(sys.argv[4]))
    print("step", saved["step"])
    if len(sys.argv) > 5:
        for name, line in zip(("CTC", "TDT"), word_times(model, front, pieces, sys.argv[5])):
            print("starts of words,", name, line, flush=True)
    for name, some in clips.items():
        print(name, len(some), "clips", train.examine(model, front, pieces, some, torch.device("cpu"), 0, 8), flush=True)


if __name__ == "__main__":
    main()
