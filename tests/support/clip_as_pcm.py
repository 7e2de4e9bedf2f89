"""clip_as_pcm.py CLIP OUT: a sound file of 16 kHz as 16 bit mono without a header, which is what a microphone gives; by libsndfile, where it is installed."""
import ctypes
import ctypes.util
import sys


class Info(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), ("rate", ctypes.c_int), ("channels", ctypes.c_int), ("format", ctypes.c_int), ("sections", ctypes.c_int),
                ("seekable", ctypes.c_int)]


def main() -> None:
    name = ctypes.util.find_library("sndfile")
    if name is None:
        sys.exit("clip_as_pcm: there is no libsndfile here")
    library = ctypes.CDLL(name)
    library.sf_open.restype = ctypes.c_void_p
    library.sf_readf_short.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sf_readf_short.restype = ctypes.c_int64
    info = Info()
    file = library.sf_open(sys.argv[1].encode(), 0x10, ctypes.byref(info))
    if not file or info.rate != 16000 or info.channels != 1:
        sys.exit(f"clip_as_pcm: {sys.argv[1]} is no mono file of 16 kHz")
    samples = (ctypes.c_int16 * info.frames)()
    count = library.sf_readf_short(file, samples, info.frames)
    with open(sys.argv[2], "wb") as out:
        out.write(bytes(samples)[:2 * count])


main()
