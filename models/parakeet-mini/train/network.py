"""Parakeet (FastConformer encoder, heads for CTC and TDT) for training; parameters have the names of transformers' ParakeetForCTC and ParakeetForTDT.

Sources: FastConformer arXiv:2305.05084; relative positions arXiv:1901.02860, appendix B; TDT arXiv:2304.06795.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

import convolve

MELS, WIDTH, HEADS, LAYERS, FEED_FORWARD, CHANNELS, KERNEL = 80, 192, 4, 8, 768, 128, 9
PIECES = 352
BLANK = PIECES
DURATIONS = 5
# Whether training takes the convolutions of convolve.cu.
QUICK = True


def counts_behind(frames):
    """Frames behind the subsampling by 8, of a number or a tensor of frames before it."""
    for _ in range(3):
        frames = (frames - 1) // 2 + 1
    return frames


def valid(counts, length):
    return torch.arange(length, device=counts.device)[None] < counts[:, None]


class Subsampling(nn.Module):
    def __init__(self):
        super().__init__()
        step = dict(kernel_size=3, stride=2, padding=1)
        self.layers = nn.ModuleList([nn.Conv2d(1, CHANNELS, **step), nn.ReLU()])
        for _ in range(2):
            self.layers += [nn.Conv2d(CHANNELS, CHANNELS, groups=CHANNELS, **step), nn.Conv2d(CHANNELS, CHANNELS, 1), nn.ReLU()]
        self.linear = nn.Linear(CHANNELS * MELS // 8, WIDTH)

    def forward(self, features, counts):
        if self.training and QUICK:
            return self.quick(features, counts.int())
        hidden = features[:, None]
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d) and layer.stride[0] == 2:
                # What lies behind a clip's end is kept at zero before every convolution that would see it.
                hidden = hidden * valid(counts, hidden.shape[2])[:, None, :, None]
                counts = (counts - 1) // 2 + 1
            hidden = layer(hidden)
        return self.linear(hidden.transpose(1, 2).flatten(2))

    def quick(self, features, counts):
        """The same by our own convolutions, channels last; frames have to be a multiple of 8."""
        first, second, between, third, last = (self.layers[i] for i in (0, 2, 3, 5, 6))
        hidden = convolve.Stem.apply(features, counts, first.weight, first.bias, second.weight, second.bias)
        hidden = F.linear(hidden, between.weight.flatten(1), between.bias)
        counts = (((counts - 1) // 2 + 1) - 1) // 2 + 1
        hidden = convolve.Plane.apply(hidden, counts, third.weight, third.bias)
        hidden = F.relu(F.linear(hidden, last.weight.flatten(1), last.bias))
        return self.linear(hidden.transpose(2, 3).flatten(2))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.relative_k_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.bias_u = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS) * .02)
        self.bias_v = nn.Parameter(torch.randn(HEADS, WIDTH // HEADS) * .02)

    def forward(self, hidden, positions, mask):
        clips, frames, _ = hidden.shape
        layers = (self.q_proj, self.k_proj, self.v_proj)
        together = F.linear(hidden, torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers]))
        query, key, value = together.view(clips, frames, 3, HEADS, -1).unbind(2)
        relative = self.relative_k_proj(positions).view(2 * frames - 1, HEADS, -1)
        by_place = (query + self.bias_v).transpose(1, 2) @ relative.permute(1, 2, 0)
        by_place = F.pad(by_place, (1, 0)).view(clips, HEADS, 2 * frames, frames)[:, :, 1:].reshape(clips, HEADS, frames, 2 * frames - 1)[..., :frames]
        by_content = (query + self.bias_u).transpose(1, 2) @ key.permute(0, 2, 3, 1)
        weights = ((by_content + by_place).float() / math.sqrt(WIDTH // HEADS) + mask).softmax(-1).to(value.dtype)
        return self.o_proj((weights @ value.transpose(1, 2)).transpose(1, 2).reshape(clips, frames, WIDTH))


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.pointwise_conv1 = nn.Conv1d(WIDTH, 2 * WIDTH, 1)
        self.depthwise_conv = nn.Conv1d(WIDTH, WIDTH, KERNEL, padding=KERNEL // 2, groups=WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.pointwise_conv2 = nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, hidden, inside):
        hidden = F.glu(F.linear(hidden, self.pointwise_conv1.weight.squeeze(-1), self.pointwise_conv1.bias), -1) * inside
        if self.training and QUICK:
            hidden = convolve.Line.apply(hidden, self.depthwise_conv.weight, self.depthwise_conv.bias)
        else:
            hidden = self.depthwise_conv(hidden.transpose(1, 2)).transpose(1, 2)
        hidden = F.silu(self.norm(hidden.flatten(0, 1)).view(hidden.shape))
        return F.linear(hidden, self.pointwise_conv2.weight.squeeze(-1), self.pointwise_conv2.bias)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(WIDTH, FEED_FORWARD), nn.Linear(FEED_FORWARD, WIDTH)

    def forward(self, hidden):
        return self.linear2(F.silu(self.linear1(hidden)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.feed_forward1, self.self_attn, self.conv, self.feed_forward2 = FeedForward(), Attention(), Convolution(), FeedForward()
        for name in ("feed_forward1", "self_att", "conv", "feed_forward2", "out"):
            setattr(self, "norm_" + name, nn.LayerNorm(WIDTH))

    def forward(self, hidden, positions, mask, inside):
        hidden = torch.add(hidden, self.feed_forward1(self.norm_feed_forward1(hidden)), alpha=.5)
        hidden = hidden + self.self_attn(self.norm_self_att(hidden), positions, mask)
        hidden = hidden + self.conv(self.norm_conv(hidden), inside)
        hidden = torch.add(hidden, self.feed_forward2(self.norm_feed_forward2(hidden)), alpha=.5)
        return self.norm_out(hidden)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.subsampling = Subsampling()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, features, counts):
        """features [clips, frames, 80], counts [clips] -> [clips, frames behind subsampling, 192]."""
        hidden = self.subsampling(features, counts) * math.sqrt(WIDTH)
        frames = hidden.shape[1]
        inside = valid(counts_behind(counts), frames)
        mask = torch.zeros(inside.shape, device=hidden.device).masked_fill(~inside, float("-inf"))[:, None, None]
        place = torch.arange(frames - 1, -frames, -1, device=hidden.device)[:, None] * torch.exp(
            torch.arange(0, WIDTH, 2, device=hidden.device) * (-math.log(10000.) / WIDTH))
        positions = torch.stack([place.sin(), place.cos()], -1).flatten(1).to(hidden.dtype)
        for layer in self.layers:
            hidden = layer(hidden, positions, mask, inside[..., None])
        return hidden


class Decoder(nn.Module):
    """The prediction network: an LSTM over the labels so far; the row of the blank is what it starts from, and is zero."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(PIECES + 1, WIDTH, padding_idx=BLANK)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.decoder_projector = nn.Linear(WIDTH, WIDTH)

    def forward(self, labels):
        start = labels.new_full((len(labels), 1), BLANK)
        hidden, _ = self.lstm(self.embedding(torch.cat([start, labels], 1)))
        return self.decoder_projector(hidden)


class Joint(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, PIECES + 1 + DURATIONS)

    def forward(self, encoded, predicted):
        return self.head(F.relu(encoded + predicted))


class Parakeet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.ctc_head = nn.Conv1d(WIDTH, PIECES + 1, 1)
        self.encoder_projector = nn.Linear(WIDTH, WIDTH)
        self.decoder = Decoder()
        self.joint = Joint()

    def ctc(self, encoded):
        return F.linear(encoded, self.ctc_head.weight.squeeze(-1), self.ctc_head.bias)

    @torch.no_grad()
    def decode_tdt(self, encoded, counts, most_at_frame=10):
        """Greedy: for each clip a list of (piece, frame)."""
        encoded = self.encoder_projector(encoded)
        clips, frames, _ = encoded.shape
        device = encoded.device
        state = (torch.zeros(1, clips, WIDTH, device=device),) * 2
        output, state = self.decoder.lstm(self.decoder.embedding(torch.full((clips, 1), BLANK, device=device)), state)
        at, here = torch.zeros(clips, dtype=torch.long, device=device), torch.zeros(clips, dtype=torch.long, device=device)
        history = []
        while True:
            going = at < counts
            if len(history) % 16 == 0 and not going.any():
                break
            logits = self.joint(encoded[torch.arange(clips, device=device), at.clamp(max=frames - 1)], self.decoder.decoder_projector(output[:, 0]))
            piece, duration = logits[:, :BLANK + 1].argmax(-1), logits[:, BLANK + 1:].argmax(-1)
            spoken = (piece != BLANK) & going
            history.append(torch.stack([torch.where(spoken, piece, -1), at]))
            here = torch.where(spoken & (duration == 0), here + 1, 0)
            duration = torch.where((duration == 0) & (~spoken | (here >= most_at_frame)), 1, duration)
            at = at + torch.where(going, duration, 0)
            following, (hidden, cell) = self.decoder.lstm(self.decoder.embedding(piece[:, None]), state)
            output = torch.where(spoken[:, None, None], following, output)
            state = (torch.where(spoken[None, :, None], hidden, state[0]), torch.where(spoken[None, :, None], cell, state[1]))
        history = torch.stack(history).permute(2, 0, 1).tolist()
        return [[(piece, frame) for piece, frame in clip if piece >= 0] for clip in history]

    @torch.no_grad()
    def decode_ctc(self, encoded, counts):
        """Greedy: for each clip a list of (piece, frame)."""
        best = self.ctc(encoded).argmax(-1).tolist()
        return [[(piece, frame) for frame, piece in enumerate(row[:count]) if piece != BLANK and (frame == 0 or row[frame - 1] != piece)]
                for row, count in zip(best, counts.tolist())]
