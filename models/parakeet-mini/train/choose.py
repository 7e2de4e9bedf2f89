"""What checkpoints of a stretch of training, and the middles between each and the one that the stretch began from, make of the examinations but for the
voice whose rate is reported: word error rates in percent (CTC, TDT). The best for the voices of CHOICE is written, of those that are not worse than START by
more than .3 for the voices trained on.

Usage: python3 choose.py FOLDER pieces.model OUT.pt START.pt CHECKPOINT.pt...      # FOLDER: of the examinations' clips, as synthesise.py --exam makes them
"""
import os
import sys

import sentencepiece
import torch

import network
import sound
import train
from synthesise import CHOICE

KNOWN = ("seen", "variants")


def middle(one, other, share):
    return {key: value.float().lerp(other[key].float(), share) if value.is_floating_point() else value for key, value in one.items()}


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    folder, pieces, out, *names = sys.argv[1:]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pieces, front = sentencepiece.SentencePieceProcessor(model_file=pieces), sound.Sound(device)
    clips = {name: train.exam_clips(f"{folder}/{name}.npz") for name in (*KNOWN, CHOICE)}
    saved = [torch.load(name, map_location="cpu") for name in names]
    states = [one["model"] for one in saved]
    ways = [(names[0], states[0], saved[0]["step"])]
    for name, one, state in zip(names[1:], saved[1:], states[1:]):
        label = os.path.basename(name)
        ways += [(f"{label} by {share:.2f}", middle(states[0], state, share), one["step"]) for share in (1., .75, .5)]
    if len(states) > 3:
        ways.append(("mean of the last three", {key: (sum(state[key].float() for state in states[-3:]) / 3 if value.is_floating_point() else value)
                                                for key, value in states[-1].items()}, saved[-1]["step"]))
    model, best, first = network.Parakeet().to(device).eval(), None, None
    for name, state, step in ways:
        model.load_state_dict({key: value.float() if value.is_floating_point() else value for key, value in state.items()})
        rates = {exam: train.examine(model, front, pieces, some, device) for exam, some in clips.items()}
        print(name, rates, flush=True)
        first = first or rates
        kept = all(rates[exam][head] <= first[exam][head] + .3 for exam in KNOWN for head in range(2))
        if (kept or name == names[0]) and (best is None or sum(rates[CHOICE]) < best[0]):
            best = sum(rates[CHOICE]), name, state, step
    torch.save({"model": {key: value.half() if value.is_floating_point() else value for key, value in best[2].items()}, "step": best[3]}, out)
    print("taken:", best[1])


if __name__ == "__main__":
    main()
