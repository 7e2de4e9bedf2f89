"""Debian's synthesisers as functions from text to 16 kHz samples.

espeak-ng, flite, SVOX Pico and RHVoice are called in the process, as libraries (ctypes); festival is a process that is given many sentences at once. The
voices that are never trained on are HELD_OUT_VARIANTS of espeak-ng, HELD_OUT_FLITE of flite and HELD_OUT_RHVOICE.
"""
import ctypes
import math
import os
import shutil
import subprocess
import tempfile
import wave

import numpy as np
from scipy.signal import resample_poly

RATE = 16000
# Files of espeak-ng-data/lang: its names of languages are not all found by espeak_SetVoiceByName.
LANGUAGES = ["gmw/en-US"] * 4 + ["gmw/en"] * 2 + ["gmw/en-GB-scotland", "gmw/en-GB-x-rp", "gmw/en-US-nyc", "gmw/en-029", "gmw/en-GB-x-gbclan",
             "gmw/en-GB-x-gbcwmd"]
HELD_OUT_VARIANTS = ["f5", "m8", "Michael"]
# Effects rather than speakers: whispers, croaks and jokes of espeak-ng's folder of variants.
LEFT_OUT_VARIANTS = ["whisper", "whisperf", "croak", "fast", "fast_test", "robosoft", "robosoft2", "robosoft3", "robosoft4", "robosoft5", "robosoft6", "robosoft7",
                     "robosoft8", "Demonic", "Half-LifeAnnouncementSystem", "UniRobot", "announcer", "Zac"]
FLITE = {"slt": 4, "rms": 4, "kal16": 1, "kal": 1}
HELD_OUT_FLITE = "awb"
FESTIVAL = {"ked_diphone": 3, "cmu_us_slt_arctic_hts": 3, "kal_diphone": 1}
# SVOX Pico: files of text analysis and of sound of a voice. RHVoice: names. Neither is in Debian's main part; where they are missing others read.
PICO = [("en-US_ta.bin", "en-US_lh0_sg.bin"), ("en-GB_ta.bin", "en-GB_kh0_sg.bin")]
RHVOICE = ["Bdl", "Clb"]
HELD_OUT_RHVOICE = ["Lyubov"]  # whose licence, CC BY-NC-ND, lets nobody make works of it


def to_rate(samples, rate):
    samples = samples.astype(np.float32)
    if rate != RATE:
        common = math.gcd(rate, RATE)
        samples = resample_poly(samples, RATE // common, rate // common)
    return samples


class Espeak:
    """libespeak-ng; one in a process. Units: words a minute, pitch and range 0 to 99."""

    class Event(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("unique", ctypes.c_uint), ("text_position", ctypes.c_int), ("length", ctypes.c_int),
                    ("audio_position", ctypes.c_int), ("sample", ctypes.c_int), ("user", ctypes.c_void_p), ("id", ctypes.c_char * 8)]

    def __init__(self, data="/usr/lib/x86_64-linux-gnu/espeak-ng-data"):
        self.library = ctypes.CDLL("libespeak-ng.so.1")
        self.rate = self.library.espeak_Initialize(2, 0, os.path.dirname(data).encode(), 0)
        assert self.rate > 0, "libespeak-ng found no data in " + data
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(self.Event))
        self.callback = callback(self._take)
        self.library.espeak_SetSynthCallback(self.callback)
        self.variants = sorted(name for name in os.listdir(data + "/voices/!v") if name not in LEFT_OUT_VARIANTS)
        assert set(HELD_OUT_VARIANTS) <= set(self.variants)

    def _take(self, samples, count, events):
        if count:
            self.chunks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while events[at].type != 0:
            if events[at].type == 1:
                self.words.append((events[at].audio_position / 1000, events[at].text_position - 1, events[at].length))
            at += 1
        return 0

    def speak(self, text, voice, speed=175, pitch=50, range_=50, gap=0):
        """Samples at 16 kHz; self.words then holds (seconds, first character, characters) of each word."""
        assert self.library.espeak_SetVoiceByName(voice.encode()) == 0, voice
        for parameter, value in [(1, speed), (3, pitch), (4, range_), (7, gap)]:
            self.library.espeak_SetParameter(parameter, value, 0)
        self.chunks, self.words = [], []
        data = text.encode() + b"\0"
        assert self.library.espeak_Synth(data, len(data), 0, 1, 0, 1, None, None) == 0
        return to_rate(np.concatenate(self.chunks), self.rate)

    def random(self, text, generator, held_out=False):
        variants = HELD_OUT_VARIANTS if held_out else [name for name in self.variants if name not in HELD_OUT_VARIANTS]
        voice = generator.choice(LANGUAGES) + (("+" + generator.choice(variants)) if held_out or generator.random() < .9 else "")
        return self.speak(text, voice, generator.randint(120, 215), generator.randint(25, 75), generator.randint(25, 85))


class Flite:
    """libflite with the voices of Debian's package."""

    class Wave(ctypes.Structure):
        _fields_ = [("type", ctypes.c_char_p), ("rate", ctypes.c_int), ("count", ctypes.c_int), ("channels", ctypes.c_int),
                    ("samples", ctypes.POINTER(ctypes.c_short))]

    class Voice(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]

    def __init__(self):
        self.library = ctypes.CDLL("libflite.so.1", ctypes.RTLD_GLOBAL)
        for name in ("usenglish", "cmulex"):
            ctypes.CDLL(f"libflite_{name}.so.1", ctypes.RTLD_GLOBAL)
        self.library.flite_text_to_wave.restype = ctypes.POINTER(self.Wave)
        self.library.flite_text_to_wave.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self.library.delete_wave.argtypes = [ctypes.c_void_p]
        self.library.flite_feat_set_float.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float]
        self.library.flite_init()
        self.voices = {}

    def speak(self, text, voice, **features):
        if voice not in self.voices:
            register = getattr(ctypes.CDLL(f"libflite_cmu_us_{voice}.so.1"), f"register_cmu_us_{voice}")
            register.restype = ctypes.POINTER(self.Voice)
            register.argtypes = [ctypes.c_void_p]
            self.voices[voice] = register(None)
        at = self.voices[voice]
        for name, value in features.items():
            self.library.flite_feat_set_float(at.contents.features, name.encode(), value)
        made = self.library.flite_text_to_wave(text.encode(), ctypes.cast(at, ctypes.c_void_p))
        samples = np.ctypeslib.as_array(made.contents.samples, (made.contents.count,)).copy()
        rate = made.contents.rate
        self.library.delete_wave(made)
        return to_rate(samples, rate)

    def random(self, text, generator, held_out=False):
        voice = HELD_OUT_FLITE if held_out else generator.choices(list(FLITE), list(FLITE.values()))[0]
        # The statistical voices take a mean of the pitch; 3 in 10 clips keep the speaker's own.
        own = {"slt": 175, "rms": 105, "awb": 130}.get(voice)
        features = {"duration_stretch": generator.uniform(.75, 1.3)}
        if own:
            features["int_f0_target_mean"] = own if generator.random() < .3 else generator.uniform(80, 220)
        return self.speak(text, voice, **features)


class Pico:
    """libttspico; an engine for each voice."""

    def __init__(self, folder="/opt/voices/pico"):
        self.library = ctypes.CDLL("libttspico.so.0")
        self.memory = []
        self.engines = [self._engine([f"{folder}/{name}" for name in names]) for names in PICO]

    def _call(self, name, *arguments):
        status = getattr(self.library, "pico_" + name)(*arguments)
        assert status >= 0, f"pico_{name}: {status}"
        return status

    def _engine(self, files):
        system, engine = ctypes.c_void_p(), ctypes.c_void_p()
        self.memory.append(ctypes.create_string_buffer(2500000))
        self._call("initialize", self.memory[-1], len(self.memory[-1]), ctypes.byref(system))
        self._call("createVoiceDefinition", system, b"voice")
        for file in files:
            resource, name = ctypes.c_void_p(), ctypes.create_string_buffer(32)
            self._call("loadResource", system, file.encode(), ctypes.byref(resource))
            self._call("getResourceName", system, resource, name)
            self._call("addResourceToVoiceDefinition", system, b"voice", name)
        self._call("newEngine", system, b"voice", ctypes.byref(engine))
        return engine

    def speak(self, text, voice, speed=100, pitch=100):
        engine, left = self.engines[voice], f'<pitch level="{pitch}"><speed level="{speed}">{text}</speed></pitch>'.encode() + b"\0"
        taken, bytes_, kind = ctypes.c_int16(), ctypes.c_int16(), ctypes.c_int16()
        part, parts = ctypes.create_string_buffer(256), []
        while left:
            self._call("putTextUtf8", engine, left, len(left), ctypes.byref(taken))
            left = left[taken.value:]
            while self._call("getData", engine, part, 256, ctypes.byref(bytes_), ctypes.byref(kind)) == 201:
                parts.append(part.raw[:bytes_.value])
            parts.append(part.raw[:bytes_.value])
        return to_rate(np.frombuffer(b"".join(parts), np.int16), 16000)

    def random(self, text, generator):
        return self.speak(text, generator.randrange(len(self.engines)), generator.randint(80, 135), generator.randint(70, 135))


class RHVoice:
    """libRHVoice."""

    Samples = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_uint, ctypes.c_void_p)
    Rate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

    class Setting(ctypes.Structure):
        pass

    class Manner(ctypes.Structure):
        _fields_ = [("profile", ctypes.c_char_p)] + [(name, ctypes.c_double) for name in ("rate", "pitch", "volume", "by_rate", "by_pitch", "by_volume")] + [
            ("punctuation", ctypes.c_int), ("list", ctypes.c_char_p), ("capitals", ctypes.c_int), ("flags", ctypes.c_int)]

    def __init__(self, folder="/opt/voices/rhvoice"):
        self.library = ctypes.CDLL("libRHVoice.so.5")
        self.library.RHVoice_new_tts_engine.restype = self.library.RHVoice_new_message.restype = ctypes.c_void_p
        self.library.RHVoice_new_message.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self.library.RHVoice_speak.argtypes = self.library.RHVoice_delete_message.argtypes = [ctypes.c_void_p]
        self.kept = self.Rate(self._take_rate), self.Samples(self._take)
        self.setting = self.Setting(folder.encode(), b"/nonexistent", None, *self.kept)
        self.engine = self.library.RHVoice_new_tts_engine(ctypes.byref(self.setting))
        assert self.engine, "libRHVoice found no voices in " + folder
        self.rate = RATE

    def _take_rate(self, rate, _):
        self.rate = rate
        return 1

    def _take(self, samples, count, _):
        self.parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 1

    def speak(self, text, voice, rate=1., pitch=1.):
        self.parts, data = [], text.encode()
        manner = self.Manner(voice.encode(), 0, 0, 0, rate, pitch, 1, 1, None, 1, 0)
        message = self.library.RHVoice_new_message(self.engine, data, len(data), 0, ctypes.byref(manner), None)
        assert message, voice
        self.library.RHVoice_speak(message)
        self.library.RHVoice_delete_message(message)
        return to_rate(np.concatenate(self.parts), self.rate) if self.parts else None

    def random(self, text, generator, held_out=False):
        return self.speak(text, generator.choice(HELD_OUT_RHVOICE if held_out else RHVOICE), generator.uniform(.8, 1.3), generator.uniform(.8, 1.25))


RHVoice.Setting._fields_ = [("data", ctypes.c_char_p), ("configuration", ctypes.c_char_p), ("paths", ctypes.c_void_p), ("rate", RHVoice.Rate),
                            ("samples", RHVoice.Samples)] + [(name, ctypes.c_void_p) for name in (
                                "mark", "word_starts", "word_ends", "sentence_starts", "sentence_ends", "audio", "done")] + [("options", ctypes.c_uint)]


class Festival:
    """The festival program: one start for many sentences."""

    def random(self, texts, generator):
        """A list of samples, None where festival made nothing."""
        voice = generator.choices(list(FESTIVAL), list(FESTIVAL.values()))[0]
        folder = tempfile.mkdtemp(dir="/dev/shm")
        lines = [f"(voice_{voice})"]
        for index, text in enumerate(texts):
            lines.append(f"(Parameter.set 'Duration_Stretch {generator.uniform(.8, 1.25):.2f})")
            if voice != "cmu_us_slt_arctic_hts":
                lines.append(f"(set! int_lr_params '((target_f0_mean {generator.randint(75, 190)}) (target_f0_std {generator.randint(8, 24)})"
                             " (model_f0_mean 170) (model_f0_std 34)))")
            lines.append(f"(set! u (utt.synth (eval (list 'Utterance 'Text \"{text}\"))))(utt.save.wave u \"{folder}/{index}.wav\" 'riff)")
        with open(folder + "/all.scm", "w") as file:
            file.write("\n".join(lines))
        try:
            subprocess.run(["festival", "-b", folder + "/all.scm"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60 + 3 * len(texts))
        except subprocess.TimeoutExpired:
            pass
        made = []
        for index in range(len(texts)):
            try:
                with wave.open(f"{folder}/{index}.wav") as file:
                    made.append(to_rate(np.frombuffer(file.readframes(10**8), np.int16), file.getframerate()))
            except (OSError, EOFError, wave.Error):
                made.append(None)
        shutil.rmtree(folder)
        return made
