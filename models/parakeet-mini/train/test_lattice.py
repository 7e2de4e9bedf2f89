"""The losses of lattice.cu against PyTorch's and against every path written out; their gradients against differences. Usage: python3 test_lattice.py"""
import math

import torch

from lattice import Ctc, tdt_of_logits


def every_path(tokens, durations, labels, frames, t=0, u=0):
    """Sum of the probabilities of all ways through the lattice of a token and duration transducer."""
    if t == frames:
        return float(u == len(labels))
    total = 0.
    for d in range(5):
        if t + d > frames:
            break
        step = durations[t][u][d]
        if d > 0 and (t + d < frames or u == len(labels)):
            total += tokens[t][u][-1] * step * every_path(tokens, durations, labels, frames, t + d, u)
        if u < len(labels) and t + d < frames:
            total += tokens[t][u][labels[u]] * step * every_path(tokens, durations, labels, frames, t + d, u + 1)
    return total


def main():
    torch.manual_seed(1)
    clips, frames, most, classes = 5, 23, 7, 6
    logits = torch.randn(clips, frames, classes, requires_grad=True)
    labels = torch.randint(0, classes - 1, (clips, most), dtype=torch.int32)
    labels[1, 2] = labels[1, 1]
    frame_counts = torch.tensor([23, 20, 9, 1, 3], dtype=torch.int32)
    label_counts = torch.tensor([7, 4, 1, 0, 7], dtype=torch.int32)
    outer = torch.tensor([1., 2., .5, 3., 1.])
    ours = Ctc.apply(logits.log_softmax(-1), labels, frame_counts, label_counts, classes - 1)
    theirs = torch.nn.functional.ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels.long(), frame_counts.long(), label_counts.long(), classes - 1,
                                          reduction="none", zero_infinity=True)
    assert torch.allclose(ours, theirs, atol=1e-4), (ours, theirs)
    a, = torch.autograd.grad((ours * outer).sum(), logits, retain_graph=True)
    b, = torch.autograd.grad((theirs * outer).sum(), logits)
    assert torch.allclose(a, b, atol=1e-4), (a - b).abs().max()

    clips, frames, most, classes = 4, 6, 3, 5
    logits = torch.randn(clips, frames, most + 1, classes + 5, requires_grad=True)
    labels = torch.randint(0, classes - 1, (clips, most), dtype=torch.int32)
    frame_counts = torch.tensor([6, 4, 1, 5], dtype=torch.int32)
    label_counts = torch.tensor([3, 2, 0, 1], dtype=torch.int32)
    outer = torch.tensor([1., 2., .5, 3.])

    def loss(values):
        return (tdt_of_logits(values, labels, frame_counts, label_counts, classes - 1) * outer).sum()

    for clip, value in enumerate(tdt_of_logits(logits, labels, frame_counts, label_counts, classes - 1)):
        tokens, durations = logits[clip, ..., :classes].softmax(-1).tolist(), logits[clip, ..., classes:].softmax(-1).tolist()
        want = -math.log(every_path(tokens, durations, labels[clip, :label_counts[clip]].tolist(), int(frame_counts[clip])))
        assert abs(float(value) - want) < 1e-4, (clip, float(value), want)
    gradient, = torch.autograd.grad(loss(logits), logits)
    for _ in range(60):
        at = tuple(int(torch.randint(0, size, ())) for size in logits.shape)
        step = torch.zeros_like(logits)
        step[at] = 1e-2
        with torch.no_grad():
            difference = float(loss(logits + step) - loss(logits - step)) / 2e-2
        assert abs(difference - float(gradient[at])) < 2e-3, (at, difference, float(gradient[at]))
    print("losses and gradients are right")


if __name__ == "__main__":
    main()
