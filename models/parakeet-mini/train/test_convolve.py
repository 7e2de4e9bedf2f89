"""The convolutions of convolve.cu against PyTorch's, forward and backward. Usage: python3 test_convolve.py"""
import torch
import torch.nn.functional as F

from convolve import Line, Plane, Stem, kind


def inside(counts, rows):
    return (torch.arange(rows, device=counts.device)[None] < counts[:, None]).float()


def compare(name, ours, theirs, tensors):
    outer = torch.randn_like(theirs)
    got = torch.autograd.grad((ours.float() * outer).sum(), tensors, retain_graph=True)
    want = torch.autograd.grad((theirs * outer).sum(), tensors)
    bound = 2e-2 if ours.is_cuda else 1e-5
    for a, b in [(ours.float(), theirs), *zip(got, want)]:
        error = float((a.float() - b).norm() / b.norm())
        assert error < bound, (name, tuple(b.shape), error)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(2)

    def tensor(*shape, scale=1.):
        return (torch.randn(*shape, device=device) * scale).requires_grad_()

    clips, frames, channels = 3, 48, 128
    counts = torch.tensor([48, 31, 9], dtype=torch.int32, device=device)
    x = tensor(clips, frames, 80).detach() * inside(counts, frames)[..., None]
    w1, b1, w2, b2 = tensor(channels, 1, 3, 3), tensor(channels), tensor(channels, 1, 3, 3), tensor(channels)
    halves = (counts - 1) // 2 + 1
    first = F.conv2d(x[:, None], w1, b1, 2, 1).relu() * inside(halves, frames // 2)[:, None, :, None]
    theirs = F.conv2d(first, w2, b2, 2, 1, groups=channels).permute(0, 2, 3, 1)
    compare("stem", Stem.apply(x, counts, w1, b1, w2, b2), theirs, [w1, b1, w2, b2])

    x, w, b = tensor(clips, 12, 20, channels), tensor(channels, 1, 3, 3), tensor(channels)
    counts = torch.tensor([12, 8, 3], dtype=torch.int32, device=device)
    masked = x.to(kind(x)).float().relu() * inside(counts, 12)[..., None, None]
    compare("plane", Plane.apply(x.to(kind(x)), counts, w, b), F.conv2d(masked.permute(0, 3, 1, 2), w, b, 2, 1, groups=channels).permute(0, 2, 3, 1), [x, w, b])

    x, w, b = tensor(clips, 17, 192), tensor(192, 1, 9), tensor(192)
    compare("line", Line.apply(x.to(kind(x)), w, b), F.conv1d(x.transpose(1, 2), w, b, 1, 4, groups=192).transpose(1, 2), [x, w, b])
    print("convolutions and gradients are right")


if __name__ == "__main__":
    main()
