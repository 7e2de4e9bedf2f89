"""Sentences to read aloud, out of text that Debian's packages carry.

Writes sentences.txt: one sentence a line, lower-case letters, apostrophes and spaces, in an order that looks random but is always the same.
Every word is one of wamerican-large's, so that what a synthesiser says is what is written: no figures, abbreviations, names of files.

Packages read: bible-kjv, fortunes, fortunes-min, fortune-anarchism, wordnet-base (its examples and definitions), jargon-text, dict-devil,
gnome-user-docs, debian-faq, debian-policy, debian-reference-en, developers-reference, wamerican, wamerican-large.

Usage: python3 text.py sentences.txt
"""
import glob
import gzip
import hashlib
import os
import random
import re
import subprocess
import sys

SPOKEN_OTHERWISE = set("mr mrs ms dr st vs etc co ltd inc corp jr sr am pm ad bc eg ie no vol fig pp ch ed eds rev gen col sgt capt lt".split())
RANDOM_LINES = 6000


def clean(text):
    text = text.lower().replace("’", "'")
    text = re.sub(r"[^a-z' ]", " ", text)
    text = re.sub(r"(^|\s)'+|'+(\s|$)", " ", text)
    return re.sub(r"\s+", " ", text).strip()


def pieces(text):
    """Sentences, and the parts of long ones."""
    for sentence in re.split(r"(?<=[.;:?!])\s|--|\"|\(|\)|\n\s*\n", text):
        sentence = re.sub(r"\s+", " ", sentence).strip()
        if len(sentence) > 150:
            yield from re.split(r", (?=and |that |which |but |or |so |when |where |while |because |if )", sentence)
        else:
            yield sentence


def bible():
    book = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, text=True, errors="ignore", check=True).stdout
    return " \n\n".join(re.sub(r"^\S+\s", "", line) for line in book.split("\n"))


def fortunes():
    for name in sorted(glob.glob("/usr/share/games/fortunes/*")):
        if "." not in name.rsplit("/", 1)[1] and "ascii" not in name:
            with open(name, errors="ignore") as file:
                yield re.sub(r".\x08", "", file.read()).replace("\n%\n", "\n\n")


def wordnet():
    for part in ("noun", "verb", "adj", "adv"):
        with open(glob.glob(f"/usr/share/wordnet*/data.{part}")[0], errors="ignore") as file:
            yield "\n\n".join(line.split("|", 1)[1].replace("; ", "\n\n") for line in file if "|" in line)


def documents():
    for name in ["/usr/share/doc/jargon-text/jargon.txt.gz", "/usr/share/dictd/devil.dict.dz"]:
        with gzip.open(name, "rt", errors="ignore") as file:
            yield re.sub(r"[{}]", "", file.read())
    for pattern in ["/usr/share/help/C/**/*.page", "/usr/share/help/C/**/*.xml", "/usr/share/doc/debian/**/*.html", "/usr/share/doc/debian/**/*.txt*",
                    "/usr/share/doc/debian-policy/**/*.html", "/usr/share/debian-reference/*.en.html", "/usr/share/doc/developers-reference/**/*.html",
                    "/usr/share/developers-reference/**/*.html"]:
        for name in filter(os.path.isfile, sorted(glob.glob(pattern, recursive=True))):
            opener = gzip.open if name.endswith(".gz") else open
            with opener(name, "rt", errors="ignore") as file:
                text = re.sub(r"(?s)<(script|style|pre|screen|code|head)\b.*?</\1>", "\n\n", file.read())
                text = re.sub(r"</?(em|b|i|a|span|link|gui|q|strong|app|key|title|abbr)\b[^>]*>", "", text)
                yield re.sub(r"&\w+;", " ", re.sub(r"<[^>]+>", "\n\n", text))


def main():
    with open("/usr/share/dict/american-english-large") as file:
        known = {word.strip().lower() for word in file} - SPOKEN_OTHERWISE
    vowels = re.compile("[aeiouy]")
    found = {}

    def take(source, text):
        for piece in pieces(text):
            if re.search(r"[0-9_@#$%^&*=+<>/\\|{}\[\]~]|\b[A-Z]{2,}|\w\.\w", piece):
                continue
            sentence = clean(piece)
            words = sentence.split()
            if not (2 <= len(words) <= 34 and 8 <= len(sentence) <= 200):
                continue
            if all(word in known and len(word) <= 15 and (len(word) > 1 or word in "aio") and vowels.search(word) for word in words):
                found.setdefault(sentence, source)

    take("bible", bible())
    for name, texts in [("fortunes", fortunes()), ("wordnet", wordnet()), ("documents", documents())]:
        for text in texts:
            take(name, text)
    with open("/usr/share/dict/american-english") as file:
        words = [word.strip() for word in file if re.fullmatch(r"[a-z]{2,12}\n", word) and vowels.search(word)]
    generator = random.Random(7)
    for _ in range(RANDOM_LINES):
        found.setdefault(" ".join(generator.choice(words) for _ in range(generator.randint(3, 8))), "words")
    for source in sorted(set(found.values())):
        print(source, sum(value == source for value in found.values()), file=sys.stderr)
    order = sorted(found, key=lambda sentence: hashlib.sha1(sentence.encode()).digest())
    with open(sys.argv[1], "w") as file:
        for sentence in order:
            file.write(f"{found[sentence]}\t{sentence}\n")


if __name__ == "__main__":
    main()
