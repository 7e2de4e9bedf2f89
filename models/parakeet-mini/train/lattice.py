"""The losses of lattice.cu as functions of PyTorch."""
import torch

from native import call


class Ctc(torch.autograd.Function):
    """Losses [clips] of log_probs [clips, frames, classes], labels [clips, most] int32, counts [clips] int32."""

    @staticmethod
    def forward(ctx, log_probs, labels, frame_counts, label_counts, blank):
        clips, frames, classes = log_probs.shape
        most = labels.shape[1]
        log_probs = log_probs.contiguous()
        state = log_probs.new_empty(clips, 2, frames, 2 * most + 1)
        loss, gradient = log_probs.new_empty(clips), torch.empty_like(log_probs)
        call("lattice", "ctc", log_probs, labels, frame_counts, label_counts, clips, frames, classes, most, blank, state, loss, gradient)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx, outer):
        return ctx.saved_tensors[0] * outer[:, None, None], None, None, None, None


class Tdt(torch.autograd.Function):
    """Losses [clips] of blank and label [clips, frames, most + 1], duration [clips, frames, most + 1, 5] and counts [clips] int32."""

    @staticmethod
    def forward(ctx, blank, label, duration, frame_counts, label_counts):
        clips, frames, width = blank.shape
        blank, label, duration = blank.contiguous(), label.contiguous(), duration.contiguous()
        state = blank.new_empty(clips, 2, frames, width)
        loss = blank.new_empty(clips)
        gradients = [torch.empty_like(tensor) for tensor in (blank, label, duration)]
        call("lattice", "tdt", blank, label, duration, frame_counts, label_counts, clips, frames, width - 1, state, loss, *gradients)
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    def backward(ctx, outer):
        blank, label, duration = ctx.saved_tensors
        return blank * outer[:, None, None], label * outer[:, None, None], duration * outer[:, None, None, None], None, None


def tdt_of_logits(logits, labels, frame_counts, label_counts, blank):
    """Tdt of a joint network's logits [clips, frames, most + 1, classes + 5], blank being the last class."""
    tokens, durations = logits[..., :blank + 1].float(), logits[..., blank + 1:].float()
    total = tokens.logsumexp(-1)
    following = torch.cat([labels, labels.new_zeros(len(labels), 1)], 1).long()
    chosen = tokens.gather(-1, following[:, None, :, None].expand(-1, tokens.shape[1], -1, 1)).squeeze(-1)
    return Tdt.apply(tokens[..., blank] - total, chosen - total, durations.log_softmax(-1), frame_counts, label_counts)
