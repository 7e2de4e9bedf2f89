"""A worker that reads sentences aloud for ever: shards of clips appear in a folder until it is stopped.

A shard is NAME.npz: samples (int16, 16 kHz, clips one behind the other), lengths (samples of each clip), text (lines). It is written under another name
and renamed, so that a reader sees whole ones only. With --exam it writes the clips of the examinations instead, and ends; of those the one named by CHOICE,
voices of RHVoice that are not trained on, is what stretches of training are chosen by, so that none is by a voice whose rate is reported.

Usage: python3 synthesise.py sentences.txt FOLDER WORKER SEED [--exam]
"""
import os
import random
import sys
import time

import numpy as np

import voices

CLIPS = 96
LONGEST = 20 * voices.RATE
EXAMS = {"seen": 500, "variants": 200, "awb": 200}
CHOICE = "unheard"
WAITING = 600


def sentences(path):
    """(examination sentences, training sentences); the first have four words or more, and lists of random words are not among them."""
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    exam = [text for source, text in lines if source != "words" and len(text) <= 120 and text.count(" ") >= 3][:sum(EXAMS.values())]
    held = set(exam)
    return exam, [text for _, text in lines if text not in held]


def level(samples, generator):
    """int16 of a loudness of speech, or None if it is no clip to use."""
    if samples is None or not .25 * voices.RATE < len(samples) < LONGEST:
        return None
    samples = samples - samples.mean()
    deviation = samples.std()
    if deviation < 20:
        return None
    samples = samples * (generator.uniform(1200, 4000) / deviation)
    return (samples * min(1., 32000 / np.abs(samples).max())).astype(np.int16)


class Reader:
    def __init__(self):
        self.espeak, self.flite, self.festival, self.others = voices.Espeak(), voices.Flite(), voices.Festival(), []

    def with_others(self):
        """Readers that Debian's main part has not, where they are: three clips in ten are theirs."""
        for kind in (voices.Pico, voices.RHVoice):
            try:
                self.others.append(kind())
            except OSError as missing:
                print(f"synthesise.py goes on without {kind.__name__}: {missing}", file=sys.stderr)
        return self

    def one(self, text, generator):
        if self.others and generator.random() < .3:
            return generator.choice(self.others).random(text, generator)
        return (self.flite if generator.random() < .42 else self.espeak).random(text, generator)

    def many(self, texts, generator):
        share = generator.random()
        if share < .12:
            return self.festival.random(texts, generator)
        return [self.one(text, generator) for text in texts]


def silence(generator, longest):
    return np.zeros(int(generator.random() ** 2 * longest * voices.RATE), np.int16)


def dressed(clips, generator):
    """Clips with silence around them; one in eight is several, one behind the other, as people speak."""
    at = 0
    while at < len(clips):
        count = generator.randint(2, 7) if generator.random() < .125 else 1
        parts, text = [silence(generator, .7)], []
        for samples, sentence in clips[at:at + count]:
            if sum(map(len, parts)) + len(samples) > LONGEST - voices.RATE:
                break
            parts += [samples, silence(generator, 1.2 if count > 1 else .5)]
            text.append(sentence)
        at += max(1, len(text))
        if text:
            yield np.concatenate(parts), " ".join(text)


def write(name, clips):
    np.savez(name + ".part.npz", samples=np.concatenate([samples for samples, _ in clips]), lengths=np.array([len(samples) for samples, _ in clips]),
             text=np.array([text for _, text in clips]))
    os.rename(name + ".part.npz", name + ".npz")


def main():
    path, folder, worker, seed = sys.argv[1:5]
    exam, train = sentences(path)
    reader = Reader()
    if "--exam" in sys.argv:
        generator = random.Random(20)
        at = 0
        for name, count in EXAMS.items():
            texts, at = exam[at:at + count], at + count
            if name == "seen":
                made = []
                for index in range(0, count, 20):
                    made += reader.festival.random(texts[index:index + 20], generator) if index % 140 == 0 else reader.many(texts[index:index + 20], generator)
            else:
                made = [(reader.espeak if name == "variants" else reader.flite).random(text, generator, True) for text in texts]
            made = [(level(samples, generator), text) for samples, text in zip(made, texts)]
            write(f"{folder}/{name}", [clip for clip in made if clip[0] is not None])
        for other in reader.with_others().others:
            if isinstance(other, voices.RHVoice):  # it reads the texts of the last
                made = [(level(other.random(text, generator, True), generator), text) for text in texts]
                write(f"{folder}/{CHOICE}", [clip for clip in made if clip[0] is not None])
        return
    reader.with_others()
    generator = random.Random(int(seed) * 1000 + int(worker))
    shard = 0
    while os.path.isdir(folder):
        if len(os.listdir(folder)) > WAITING:
            time.sleep(.5)
            continue
        texts = [generator.choice(train) for _ in range(CLIPS)]
        made = [(level(samples, generator), text) for samples, text in zip(reader.many(texts, generator), texts)]
        write(f"{folder}/{worker}-{shard}", list(dressed([clip for clip in made if clip[0] is not None], generator)))
        shard += 1


if __name__ == "__main__":
    main()
