"""Features of speech as NeMo's, and what happens to speech on its way to a microphone, on batches on a GPU without any wait for the host."""
import math

import numpy as np
import torch

import network

RATE, HOP = 16000, 160
WARPS = 128


def mel(frequency):
    """Slaney's scale: linear below 1 kHz, logarithmic above."""
    frequency = np.asarray(frequency, np.float64)
    return np.where(frequency < 1000, frequency * 3 / 200, 15 + np.log(np.maximum(frequency, 1000) / 1000) * 27 / math.log(6.4))


def hertz(value):
    value = np.asarray(value, np.float64)
    return np.where(value < 15, value * 200 / 3, 1000 * np.exp((value - 15) * math.log(6.4) / 27))


def filters(warp=1., waves=()):
    """[257, 80]: triangles of equal area over frequencies that a vocal tract shorter by `warp` would have moved, and one of another shape by `waves`:
    (height, phase) of sines over Slaney's scale, the first of one period, the second of two, ...: each formant goes its own way."""
    edges = hertz(np.linspace(mel(0), mel(RATE / 2), network.MELS + 2))
    bins = np.linspace(0, RATE / 2, 257)
    knee = 4800 * min(1, 1 / warp)
    bins = np.where(bins <= knee, bins * warp, RATE / 2 - (RATE / 2 - knee * warp) / (RATE / 2 - knee) * (RATE / 2 - bins))
    place = mel(bins) / mel(RATE / 2)
    bins = bins * np.exp(sum(height * np.sin(2 * math.pi * periods * place + phase) for periods, (height, phase) in enumerate(waves, 1)))
    rise = (bins[:, None] - edges[None, :-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[None, 2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    return torch.tensor(np.maximum(0, np.minimum(rise, fall)) * 2 / (edges[2:] - edges[:-2]), dtype=torch.float32)


class Sound:
    def __init__(self, device):
        self.device = device
        self.window = torch.hann_window(400, periodic=False, device=device)
        self.bank = filters().to(device)
        shapes = np.random.default_rng(1)
        waves = np.stack([shapes.normal(0, .025, (WARPS, 3)), shapes.uniform(0, 2 * math.pi, (WARPS, 3))], 2)
        lengths = np.exp(math.log(1.25) * np.linspace(-1, 1, WARPS - 1))
        # The first is none.
        self.warped = torch.stack([self.bank] + [filters(*one).to(device) for one in zip(lengths, waves)])

    def uniform(self, clips, low=0., high=1.):
        return low + (high - low) * torch.rand(clips, 1, device=self.device)

    def features(self, samples, counts, bank=None):
        """samples [clips, n], n a multiple of 160, counts [clips] -> ([clips, n / 160, 80], frames [clips]); zero behind a clip's end."""
        samples = torch.cat([samples[:, :1], samples[:, 1:] - .97 * samples[:, :-1]], 1) * network.valid(counts, samples.shape[1])
        power = torch.stft(samples, 512, HOP, 400, self.window, center=True, pad_mode="constant", return_complex=True)
        power = power.real.square() + power.imag.square()
        frames = counts // HOP
        logs = torch.log(power.transpose(1, 2)[:, :samples.shape[1] // HOP] @ (self.bank if bank is None else bank) + 2**-24)
        inside = network.valid(frames, logs.shape[1])[..., None]
        mean = (logs * inside).sum(1, keepdim=True) / frames[:, None, None]
        deviation = (((logs - mean) ** 2 * inside).sum(1, keepdim=True) / (frames[:, None, None] - 1).clamp(min=1)).sqrt()
        return (logs - mean) / (deviation + 1e-5) * inside, frames

    def distort(self, x, clean):
        """Rooms, noise, bands of telephones and slopes of microphones; `clean` (a tensor) of the clips stay as they are."""
        clips, length = x.shape
        device = self.device
        taps = torch.arange(4000, device=device)[None]
        room = torch.randn(clips, 4000, device=device) * torch.exp(-taps / (RATE * self.uniform(clips, .02, .15)))
        room = room * (taps >= 8) * self.uniform(clips, .02, .27) * (self.uniform(clips) < .5) / 6
        room = torch.cat([torch.ones(clips, 1, device=device), room[:, 1:]], 1)
        size = 1 << (length + 4000).bit_length()
        spectrum = torch.fft.rfft(x, size) * torch.fft.rfft(room, size)
        frequency = torch.linspace(0, RATE / 2, spectrum.shape[1], device=device)[None]
        noise = torch.fft.rfft(torch.randn(clips, length, device=device), size) * (frequency + 20) ** -self.uniform(clips, 0, 1.2)
        loudness = spectrum.abs().square().mean(1, keepdim=True).sqrt() / noise.abs().square().mean(1, keepdim=True).sqrt()
        spectrum = spectrum + noise * loudness * 10 ** (-self.uniform(clips, 3, 40) / 20)
        telephone = self.uniform(clips) < .25
        high = torch.where(telephone, self.uniform(clips, 3200, 6500), 1e4)
        low = torch.where(telephone, self.uniform(clips, 60, 350), -1e3)
        slope = 10 ** ((self.uniform(clips) - .5) * 1.4 * (frequency / 8000))
        spectrum = spectrum * slope * torch.sigmoid((high - frequency) / 120) * torch.sigmoid((frequency - low) / 40)
        return torch.where(self.uniform(clips) < clean, x, torch.fft.irfft(spectrum, size)[:, :length])

    def masked(self, features, frames, clean):
        """SpecAugment (arXiv:1904.08779)."""
        clips, length, mels = features.shape
        keep = self.uniform(clips) < clean
        bins, times = torch.arange(mels, device=self.device)[None], torch.arange(length, device=self.device)[None]
        gone = torch.zeros(clips, length, mels, dtype=torch.bool, device=self.device)
        for _ in range(2):
            wide = self.uniform(clips, 0, 18).floor()
            start = (self.uniform(clips) * (mels - wide)).floor()
            gone = gone | ((bins >= start) & (bins < start + wide) & ~keep)[:, None]
        for _ in range(4):
            wide = (self.uniform(clips, 0, .08) * frames[:, None]).floor()
            start = (self.uniform(clips) * (frames[:, None] - wide)).floor()
            gone = gone | ((times >= start) & (times < start + wide) & ~keep)[..., None]
        return features.masked_fill(gone, 0)
