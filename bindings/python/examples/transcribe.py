"""python transcribe.py AUDIO MODEL.gguf: words with their times, on the best device."""

import sys

import backplane

with backplane.Context() as context, backplane.Transcriber(context, sys.argv[2]) as transcriber:
    print(transcriber.info["device_name"])
    for word in transcriber.transcribe(sys.argv[1]).words:
        print(f"{word.start:8.2f} {word.end:8.2f}  {word.text}")
