"""The mean of checkpoints of one line of training, weight by weight: of two stretches of which the second began from the first, their middle makes fewer
mistakes than either, most of all with voices that it has not heard (arXiv:2203.05482).

Usage: python3 mix.py OUT.pt CHECKPOINT.pt CHECKPOINT.pt...
"""
import sys

import torch


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    saved = [torch.load(name, map_location="cpu") for name in sys.argv[2:]]
    states = [one["model"] for one in saved]
    for name, state in zip(sys.argv[3:], states[1:]):
        if {key: value.shape for key, value in state.items()} != {key: value.shape for key, value in states[0].items()}:
            sys.exit(f"{name} is not of the shape of {sys.argv[2]}")
    mixed = {key: (sum(state[key].double() for state in states) / len(states)).to(value.dtype) if value.is_floating_point() else value
             for key, value in states[-1].items()}
    torch.save({"model": mixed, "step": saved[-1]["step"]}, sys.argv[1])


if __name__ == "__main__":
    main()
