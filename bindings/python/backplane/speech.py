"""Speech to text with Parakeet networks."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import _library as c
from .arrays import id_of
from .devices import Cancel, Context, Device, cancel_of, made_on

DECODERS = ("automatic", "ctc", "rnnt", "tdt")
STREAMINGS = ("automatic", "never", "always")


@dataclass(frozen=True)
class Word:
    """A word with its times in seconds from the first sample, and how sure the network is of it, 0 to 1."""

    text: str
    start: float
    end: float
    confidence: float


@dataclass(frozen=True)
class Transcript:
    text: str
    words: tuple[Word, ...]
    seconds: float  # of audio
    final: bool = True  # False: a line of a stream that comes again with more


class _TranscriptHandle(c.Handle):
    kind = "transcript"


def _transcript(pointer: int, final: bool = True) -> Transcript:
    with _TranscriptHandle(pointer) as handle:
        words = tuple(Word(w.text.decode(errors="replace"), w.start, w.end, w.confidence)
                      for w in c.records("transcript_words", c.WordRecord, handle.pointer))
        text = c.plain["transcript_text"](handle.pointer).decode(errors="replace")
        return Transcript(text, words, c.plain["transcript_seconds"](handle.pointer), final)


def _samples(samples: object):
    held = np.asarray(samples, dtype=np.float32)  # ascontiguousarray() would make a row of a number, or of None
    if held.ndim != 1:
        raise c.Error(f"samples are mono, in one row; these have the shape {held.shape}", "invalid")
    held = np.ascontiguousarray(held)
    return held, held.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), held.size


class Transcriber(c.Handle):
    """A Parakeet network, loaded once. One call at a time on it and its streams.

    model: a GGUF file, or a folder as transformers reads it. on: a Context, whose best device is taken (device: a filter), with the CPU
    for what that cannot do; or devices, best first. window: seconds that the network sees at once; longer audio is cut in pauses.
    memory: bytes of the first device that all of it may take, 0: what there is. streaming: of weights, where there is no room for all.
    """

    kind = "transcriber"

    def __init__(self, on: Context | Device | Sequence[Device], model: str | os.PathLike, *, device: str = "",
                 decoder: str = "automatic", dtype: str | None = None, window: float = 0, batch: int = 0, vad: str | None = None,
                 memory: int = 0, streaming: str = "automatic") -> None:
        if decoder not in DECODERS:
            raise c.Error(f"decoder is {decoder!r}; give one of {', '.join(DECODERS)}", "invalid")
        if streaming not in STREAMINGS:
            raise c.Error(f"streaming is {streaming!r}; give one of {', '.join(STREAMINGS)}", "invalid")
        options = c.TranscriberOptions(decoder=DECODERS.index(decoder), dtype=id_of(dtype) if dtype else 0, window=window, batch=batch,
                                       memory=memory, streaming=STREAMINGS.index(streaming))
        if vad is not None:
            options.vad = c.utf8(vad)
        super().__init__(made_on("transcriber_create", on, device, (), (c.utf8(model), ctypes.byref(options))))

    @property
    def info(self) -> dict[str, object]:
        """name, decoder, sample_rate, device, device_name, why it was chosen, what finds pauses."""
        record = c.TranscriberInfo()
        c.call("transcriber_get_info", self.pointer, ctypes.byref(record))
        texts = {name: getattr(record, name).decode(errors="replace") for name in ("name", "device", "device_name", "why", "pauses_by")}
        return texts | {"decoder": DECODERS[record.decoder], "sample_rate": record.sample_rate}

    def transcribe(self, audio: str | os.PathLike | np.ndarray, *, cancel: Cancel | None = None) -> Transcript:
        """A sound file of any length, rate and number of channels; or samples, mono, of info["sample_rate"], -1 to 1."""
        if isinstance(audio, (str, os.PathLike)):
            return _transcript(c.made("transcriber_run_file", self.pointer, c.utf8(audio), cancel_of(cancel)))
        held, data, count = _samples(audio)
        return _transcript(c.made("transcriber_run", self.pointer, data, count, cancel_of(cancel)))

    def stream(self) -> Stream:
        """Speech as it comes."""
        return Stream(c.made("transcript_stream_create", self.pointer))


class Stream(c.Handle):
    """Takes samples as they come, gives lines as they are said. One call at a time on it and its Transcriber."""

    kind = "transcript_stream"

    def feed(self, samples: np.ndarray) -> Iterator[Transcript]:
        """Takes the next samples, and gives the lines that they made: partial ones, which come again, and final ones."""
        held, data, count = _samples(samples)
        c.call("transcript_stream_feed", self.pointer, data, count, None)
        return iter(list(self._lines()))

    def finish(self) -> Iterator[Transcript]:
        """What is left becomes final; the stream begins anew."""
        c.call("transcript_stream_finish", self.pointer, None)
        return iter(list(self._lines()))

    def _lines(self) -> Iterator[Transcript]:
        while True:
            out, final = ctypes.c_void_p(), ctypes.c_uint32()
            c.call("transcript_stream_next", self.pointer, ctypes.byref(out), ctypes.byref(final))
            if not out.value:
                return
            yield _transcript(out.value, final.value != 0)
