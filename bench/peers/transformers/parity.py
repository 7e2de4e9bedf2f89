#!/usr/bin/env python3
"""parity.py --stages build/release/bin/parakeet_stages --clips FOLDER [--networks ctc,tdt,rnnt] [--devices cpu,vulkan,opencl] [--trained FOLDER]
[--rows f32x1,f32x6,f16x1,f16x6] [--lanes] [--alone]

Compares features, encoder's output and greedy tokens with transformers' (5.17: ParakeetFeatureExtractor, ParakeetForCTC, -RNNT, -TDT), in float32
on its CUDA device without TF32, and ours in f32 and f16, one clip and six at a time (--rows says which, in order). With --floor, transformers' own in
f16: what halves alone change, and in f32 on the CPU and in f64: what the order of sums alone changes (--floor f64: that alone); each row then says for how
many clips its tokens are those of f64, and f32's are for how many. Networks: random weights
at the sizes of the published ones (ctc and rnnt 0.6B, tdt 110M; --layers N makes them shorter), and with --trained a folder of a trained one, by each of its
heads. Clips: 30, of 1 to 60 s (transducers: up to 15 s), made of the WAV files of FOLDER with noise between them. With --lanes the CPU's rows run beside
those of the other devices, of which two run at a time, and beside transformers'. With --alone transformers has one clip at a time only.
The largest differences, of the features as they are, of the encoder's output over its largest value; those of the features of both sides to the same
steps in float64; and of how many clips the tokens are equal, to transformers' of the same batch and of one clip at a time, with the first token that
is not. A line each as it is known, JSON at the end; rows that have not begun by --seconds-limit are left out and named."""
import argparse
import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types
import wave
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import torch


def stand_in(name):
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__version__ = "0.11.0"
    sys.modules[name] = module
    return module


try:
    import librosa  # noqa: F401
except ImportError:  # the feature extractor asks it for mel filters alone
    def mel(*, sr, n_fft, n_mels, fmin=0.0, fmax=None, norm="slaney", **_):
        from transformers.audio_utils import mel_filter_bank
        return mel_filter_bank(n_fft // 2 + 1, n_mels, fmin, fmax or sr / 2, sr, norm=norm, mel_scale="slaney").T
    stand_in("librosa").filters = types.SimpleNamespace(mel=mel)
    stand_in("soxr")

import transformers  # noqa: E402
from transformers.models.parakeet.feature_extraction_parakeet import ParakeetFeatureExtractor  # noqa: E402

SIZES = {"ctc": (24, 1024, 4096, 1), "rnnt": (24, 1024, 4096, 2), "tdt": (17, 512, 2048, 1)}


def tell_apart(model, kind, clips):
    """Biases of the head so that scores differ from frame to frame; of a transducer so that blanks are most of what it says, and of durations 0 is
    one in ten, or less: transformers has no end to a row of tokens that take no time, where NeMo and ours go on after max_symbols_per_step of them."""
    head = [m for m in model.modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv1d)) and m.weight.shape[0] >= 1025][-1]
    longest, steps = max(clips, key=len)[:4 * 16000], []

    def keep(module, given, out):
        out = out.transpose(1, 2) if isinstance(head, torch.nn.Conv1d) else out
        steps.append(out.reshape(-1, head.weight.shape[0]).float())

    def said(some, most=None):
        steps.clear()
        tokens_of(model, kind, *features_of(some, 80), most)
        return steps

    def waits():
        """The longest row of tokens without time of any clip."""
        scores = torch.stack(said(clips, 400))
        blank, took = scores[..., :1025].argmax(-1) == 1024, scores[..., 1025:].argmax(-1)
        took = torch.where(blank, took.clamp(min=1), took)
        frames = torch.tensor([len(clip) // 1280 for clip in clips], device=took.device)
        row = longest_row = torch.zeros_like(frames)
        for still in ~blank & (took == 0) & (took.cumsum(0) - took < frames):
            row = (row + 1) * still
            longest_row = torch.maximum(longest_row, row)
        return int(longest_row.max())

    seen = head.register_forward_hook(keep)
    with torch.no_grad():
        head.bias -= torch.cat(said([longest])).mean(0)
        for _ in range(6 if kind == "tdt" else 0):  # what it said decides what it says next
            now = torch.cat(said([longest]))
            head.bias[1024] += torch.quantile(now[:, :1024].amax(-1) - now[:, 1024], 0.8)
            head.bias[1025] -= torch.quantile(now[:, 1025] - now[:, 1026:].amax(-1), 0.9)
        if kind == "rnnt":  # more than a token for three frames, less than one for a frame
            now = torch.cat(said([longest]))
            margin = now[:, :1024].amax(-1) - now[:, 1024]
            least, most, start = float(margin.min()) - 1, float(margin.max()) + 1, float(head.bias[1024])
            for _ in range(12):
                head.bias[1024] = start + (least + most) / 2
                tokens = int((torch.cat(said([longest])).argmax(-1) != 1024).sum())
                if 16 < tokens < 50:
                    break
                least, most = ((least + most) / 2, most) if tokens >= 50 else (least, (least + most) / 2)
            if tokens == 0:
                head.bias[1024] = start + least
        while kind == "tdt" and waits() > 7:
            head.bias[1025] -= 0.3 * now[:, 1025].std()
    seen.remove()


def encoder_config(layers, width, inner):
    return dict(model_type="parakeet_encoder", hidden_size=width, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=8,
                intermediate_size=inner, conv_kernel_size=9, num_mel_bins=80, subsampling_conv_channels=256, subsampling_factor=8,
                subsampling_conv_kernel_size=3, subsampling_conv_stride=2, attention_bias=True, convolution_bias=True, scale_input=True,
                hidden_act="silu", max_position_embeddings=5000, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
                dropout_positions=0.0, layerdrop=0.0, initializer_range=0.02)


def make_network(kind, folder, layers, clips):
    depth, width, inner, decoder = SIZES[kind]
    common = dict(encoder_config=encoder_config(layers or depth, width, inner), vocab_size=1025, initializer_range=0.02)
    name = {"ctc": "ParakeetForCTC", "rnnt": "ParakeetForRNNT", "tdt": "ParakeetForTDT"}[kind]
    if kind == "ctc":
        common.update(pad_token_id=1024)
    else:
        common.update(blank_token_id=1024, pad_token_id=1024, decoder_hidden_size=640, num_decoder_layers=decoder, hidden_act="relu",
                      max_symbols_per_step=10)
        if kind == "tdt":
            common.update(durations=[0, 1, 2, 3, 4])
    cls = getattr(transformers, name)
    torch.manual_seed(20)
    model = cls(cls.config_class(**common)).eval()
    with torch.no_grad():  # statistics and biases that do something, and scores that tell tokens apart
        for key, value in model.state_dict().items():
            if key.endswith("running_mean"):
                value.uniform_(-0.1, 0.1)
            elif key.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif key.endswith(".bias") or "bias_" in key:
                value.uniform_(-0.1, 0.1)
        # Behind convolutions whose biases outweigh what they are given all frames are nearly alike, and so are the scores of tokens: as He's they are not.
        for name, module in model.encoder.subsampling.named_modules():
            if isinstance(module, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    tell_apart(model.cuda(), kind, clips)
    model.cpu().save_pretrained(folder)
    pieces = {"<unk>": 0, **{chr(0x4E00 + i): i for i in range(1, 1024)}}
    blank = "<pad>" if kind == "ctc" else "<blank>"
    tokenizer = dict(version="1.0", truncation=None, padding=None, normalizer=None,
                     added_tokens=[dict(id=i, content=c, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
                                   for i, c in ((0, "<unk>"), (1024, blank))],
                     pre_tokenizer=dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True), post_processor=None,
                     decoder=dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True),
                     model=dict(type="BPE", dropout=None, unk_token="<unk>", continuing_subword_prefix=None, end_of_word_suffix=None,
                                fuse_unk=True, byte_fallback=False, ignore_merges=False, vocab=pieces, merges=[]))
    json.dump(tokenizer, open(f"{folder}/tokenizer.json", "w"))
    json.dump(dict(feature_extractor=dict(feature_extractor_type="ParakeetFeatureExtractor", feature_size=80, hop_length=160, n_fft=512,
                                          padding_side="right", padding_value=0.0, preemphasis=0.97, return_attention_mask=True,
                                          sampling_rate=16000, win_length=400), processor_class="ParakeetProcessor"),
              open(f"{folder}/processor_config.json", "w"))


def features_of(clips, mels):
    made = ParakeetFeatureExtractor(feature_size=mels)(clips, sampling_rate=16000, return_tensors="pt")
    return made["input_features"], made["attention_mask"]


def exact_features(clip, mels):
    """Of one clip, by the steps of transformers' front end in float64: what rounding alone makes of both sides' features."""
    torch.set_default_dtype(torch.float64)
    try:
        front = ParakeetFeatureExtractor(feature_size=mels)
        front.mel_filters = front.mel_filters.double()
        sound = torch.tensor(clip, dtype=torch.float64)
        sound = torch.cat([sound[:1], sound[1:] - front.preemphasis * sound[:-1]])
        rows = front._torch_extract_fbank_features(sound[None])[0, :len(clip) // front.hop_length]
        return ((rows - rows.mean(0)) / (rows.std(0) + 1e-5)).numpy()
    finally:
        torch.set_default_dtype(torch.float32)


def tokens_of(model, kind, features, mask, most=None):
    """What it says of clips; of a transducer no more than the first `most` steps."""
    device = next(model.parameters()).device
    if kind != "ctc":
        model.generation_config.decoder_start_token_id = model.config.blank_token_id
    if kind == "tdt":  # scores of durations lie behind those of tokens
        model.generation_config.suppress_tokens = [model.config.vocab_size + i for i in range(len(model.config.durations))]
    # Of its own accord it counts the start among max_symbols_per_step for each frame, and leaves the last token out where all frames are full.
    full = {"max_new_tokens": model.config.max_symbols_per_step * (features.shape[1] // 8 + 1)} if kind == "rnnt" else {}
    if most and kind != "ctc":
        full = {"max_new_tokens": most}
    out = model.generate(input_features=features.to(device), attention_mask=mask.to(device), **full)
    rows = (out.sequences if hasattr(out, "sequences") else out).cpu().tolist()
    if kind != "ctc":
        return [[t for t in row if t != model.config.blank_token_id] for row in rows]
    blank = model.config.pad_token_id
    return [[t for i, t in enumerate(row) if t != blank and (i == 0 or row[i - 1] != t)] for row in rows]


def heads_of(folder, place):
    """[(head, folder)] of a trained network; of a transducer with a CTC head beside it that head, too, as a network of its own."""
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    head = config["model_type"].removeprefix("parakeet_")
    found = [(head, folder)]
    if head != "ctc" and b'"ctc_head.' in open(f"{folder}/model.safetensors", "rb").read(1 << 20):
        os.makedirs(f"{place}/trained-ctc")
        for name in os.listdir(folder):
            os.symlink(os.path.abspath(f"{folder}/{name}"), f"{place}/trained-ctc/{name}")
        os.remove(f"{place}/trained-ctc/config.json")
        kept = {key: config[key] for key in ("vocab_size", "pad_token_id", "encoder_config", "dtype", "initializer_range")}
        with open(f"{place}/trained-ctc/config.json", "w") as file:
            json.dump({"architectures": ["ParakeetForCTC"], "model_type": "parakeet_ctc", **kept}, file)
        found.append(("ctc", f"{place}/trained-ctc"))
    return found


def made_clips(folder, longest):
    sounds = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".wav"):
            with wave.open(f"{folder}/{name}") as w:
                sounds.append(np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768)
    random, clips = np.random.default_rng(4), []
    for i in range(30):
        want, pieces = int(16000 * (1 + (longest - 1) * (i * 7 % 30) / 29)), []
        while sum(map(len, pieces)) < want:
            pieces += [sounds[random.integers(len(sounds))] * random.uniform(0.3, 1), np.zeros(random.integers(1600, 9600), np.float32)]
        clip = np.concatenate(pieces)[:want]
        clips.append((clip + random.normal(0, 1e-3, want)).astype(np.float32))
    return clips


def theirs(model, kind, clips, batch, mels):
    all_features, encoded, tokens = [], [], []
    dtype, device = next(model.parameters()).dtype, next(model.parameters()).device
    with torch.no_grad():
        for first in range(0, len(clips), batch):
            some = clips[first:first + batch]
            features, mask = features_of(some, mels)
            features = features.to(dtype)
            hidden = model.encoder(input_features=features.to(device), attention_mask=mask.to(device)).last_hidden_state.float().cpu().numpy()
            tokens += tokens_of(model, kind, features, mask)
            for i, clip in enumerate(some):
                frames = len(clip) // 160
                all_features.append(features[i, :frames].float().numpy())
                steps = frames
                for _ in range(3):
                    steps = (steps + 1) // 2
                encoded.append(hidden[i, :steps])
    return all_features, encoded, tokens


def compared(row, made, want, alone, exact, sure):
    """Adds to `row` how far features, encoder's output and tokens of `made` are from `want`, tokens from `alone` and, where they are known, from `sure`, those of
    float64, and features from `exact`."""
    if sure:
        row["equal to f64"] = sum(said == tokens for said, tokens in zip(made[2], sure))
        row["wanted equal to f64"] = sum(said == tokens for said, tokens in zip(want[2], sure))
    row.update({"features": 0.0, "features to f64": 0.0, "wanted to f64": 0.0, "encoded": 0.0, "equal": 0, "equal to one at a time": 0, "tokens": 0,
                "clips": len(want[0]), "unlike": []})
    for heard, encoded, said, features, hidden, tokens, single, rows in zip(*made, *want, alone[2], exact):
        for key, a, b in (("features", heard, features), ("features to f64", heard, rows), ("wanted to f64", features, rows)):
            row[key] = max(row[key], float(np.abs(a - b).max()))
        row["encoded"] = max(row["encoded"], float(np.abs(encoded - hidden).max() / np.abs(hidden).max()))
        row["equal"] += said == tokens
        row["equal to one at a time"] += said == single
        if said != single:
            at = next((i for i, (a, b) in enumerate(zip(said, single)) if a != b), min(len(said), len(single)))
            row["unlike"].append({"frames": len(hidden), "token": at, "of": len(single), "ours": len(said)})
        row["tokens"] += len(tokens)


def ours(asked, row, folder, names, began):
    """Adds to `row` what became of parakeet_stages; the rows of features and of the encoder that it wrote lie in `row`'s folder, its lines are returned."""
    if time.time() - began > asked.seconds_limit:
        row["left out"] = "the time given was spent"
        return None
    start = time.time()
    ran = subprocess.run([asked.stages, folder, row["device"], row["dtype"], str(row["batch"]), row["folder"], *names], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    row["seconds"] = round(time.time() - start, 1)
    if ran.returncode != 0:
        row["failed"] = ran.stderr.strip()[-600:]
        return None
    return [json.loads(line) for line in ran.stdout.splitlines()]


def made_of(said, want, folder):
    """(features, encoder's output, tokens) of ours, in the shapes of `want`."""
    return ([np.fromfile(f"{folder}/{i}.features", np.float32).reshape(f.shape) for i, f in enumerate(want[0])],
            [np.fromfile(f"{folder}/{i}.encoded", np.float32).reshape(e.shape) for i, e in enumerate(want[1])],
            [one["tokens"] for one in said])


def tell(row):
    print({key: value for key, value in row.items() if key != "folder"}, file=sys.stderr, flush=True)


FLOORS = {"f16": ("cuda", torch.float16), "cpu": ("cpu", torch.float32), "f64": ("cuda", torch.float64)}


def floors_of(asked, kind, head, cls, folder, clips, mels):
    """[(row, what transformers made)] of each of FLOORS that --floor asks for."""
    for name in filter(None, asked.floor.split(",")):
        device, dtype = FLOORS[name]
        model = cls.from_pretrained(folder, dtype=torch.float32).eval().to(device).to(dtype)
        row = {"network": kind, "device": "transformers, " + device, "dtype": {16: "f16", 32: "f32", 64: "f64"}[torch.finfo(dtype).bits], "batch": 1}
        yield row, theirs(model, head, clips, 1, mels)


def network_rows(asked, kind, head, folder, clips, place, began):
    """All rows of a network, in the order in which they are asked for; each is told of once it is known."""
    names, rows, wanted, running = [], [], {}, {}
    for i, clip in enumerate(clips):
        names.append(f"{place}/{i}.f32")
        clip.tofile(names[-1])
    lanes = [ThreadPoolExecutor(1 + asked.lanes), ThreadPoolExecutor(1)]
    for dtype, batch in (asked_row.split("x") for asked_row in asked.rows.split(",")):
        for device in filter(None, asked.devices.split(",")):
            if dtype == "f32" or not device.startswith("cpu"):
                row = {"network": kind, "device": device, "dtype": dtype, "batch": int(batch), "folder": tempfile.mkdtemp(dir=place)}
                lane = lanes[asked.lanes and device.startswith("cpu")]
                running[lane.submit(ours, asked, row, folder, names, began)] = row
                rows.append(row)
    cls = getattr(transformers, {"ctc": "ParakeetForCTC", "rnnt": "ParakeetForRNNT", "tdt": "ParakeetForTDT"}[head])
    model = cls.from_pretrained(folder, dtype=torch.float32).eval().cuda()
    mels = model.config.encoder_config.num_mel_bins
    exact = [exact_features(clip, mels) for clip in clips]
    for batch in sorted({1} | {row["batch"] for row in rows}):
        wanted[batch] = wanted[1] if asked.alone and batch > 1 else theirs(model, head, clips, batch, mels)
        print(f"{kind} by transformers, batch {batch}: known {time.time() - began:.0f} s after the start", file=sys.stderr, flush=True)
    floors = list(floors_of(asked, kind, head, cls, folder, clips, mels))
    sure = next((made[2] for row, made in floors if row["dtype"] == "f64"), None)
    for done in as_completed(running):
        row, said = running[done], done.result()
        if said is not None:
            want = wanted[row["batch"]]
            compared(row, made_of(said, want, row["folder"]), want, wanted[1], exact, sure)
        tell(row)
        shutil.rmtree(row.pop("folder"))
    for row, made in floors:
        compared(row, made, wanted[1], wanted[1], exact, sure)
        tell(row)
    return rows + [row for row, _ in floors]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", required=True)
    parser.add_argument("--clips", required=True)
    parser.add_argument("--networks", default="ctc,tdt,rnnt")
    parser.add_argument("--devices", default="cpu,vulkan,opencl")
    parser.add_argument("--rows", default="f32x1,f32x6,f16x1,f16x6")
    parser.add_argument("--trained")
    parser.add_argument("--floor", nargs="?", const="f16,cpu,f64", default="")
    parser.add_argument("--lanes", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seconds-limit", type=float, default=500)
    parser.add_argument("--count", type=int, default=30)
    asked = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    began, rows = time.time(), []
    with tempfile.TemporaryDirectory() as place:
        trained = heads_of(asked.trained, place) if asked.trained else []
        networks = [("trained, " + head, head, folder) for head, folder in trained] + [(head, head, None) for head in asked.networks.split(",") if head]
        for kind, head, folder in networks:
            clips = made_clips(asked.clips, 60 if head == "ctc" else 15)[:asked.count]
            if folder is None:
                folder = f"{place}/{kind}"
                os.makedirs(folder)
                make_network(kind, folder, asked.layers, clips)
            rows += network_rows(asked, kind, head, folder, clips, place, began)
    print(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
