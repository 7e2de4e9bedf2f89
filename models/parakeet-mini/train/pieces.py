"""Finds the pieces of words that the network's labels are: byte pair encoding over the sentences that are read aloud.

CTC has at most one label a frame of 80 ms, so pieces have to be long enough for the fastest speech: 128 of them are 3.2 a word, 13 a second where 215 words
a minute are spoken 1.15 times as fast, which is more than there are frames. 352 are 2.4 a word.

Usage: python3 pieces.py sentences.txt pieces.model
"""
import os
import shutil
import sys
import tempfile

import sentencepiece

import network


def main():
    with open(sys.argv[1]) as file:
        lines = [line.split("\t")[1] for line in file]
    made = os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the model keeps the names that it was made with
        with open("lines.txt", "w") as file:
            file.writelines(lines)
        sentencepiece.SentencePieceTrainer.train(
            input="lines.txt", model_prefix="pieces", vocab_size=network.PIECES, model_type="bpe", character_coverage=1., unk_id=0, bos_id=-1, eos_id=-1,
            pad_id=-1, normalization_rule_name="identity", minloglevel=2)
        shutil.move("pieces.model", made)
        os.chdir("/")


if __name__ == "__main__":
    main()
