"""Trains parakeet-mini on speech that is synthesised while it learns.

It goes on from a checkpoint (--start), for a given time: workers (synthesise.py) fill a folder with clips, clips go to a store on the GPU, and one CUDA
graph for each length of a batch does a whole step: samples at another speed, room and noise, features, network, both losses, gradients, AdamW and the
average of the weights. The network that is examined and saved is that average.

From nothing (no --start), short clean clips come first: with all lengths and noise from the start it stays where every frame is blank.

Usage: python3 train.py --sentences sentences.txt --pieces bpe.model --start checkpoint.pt --out FOLDER --seconds 900
"""
import argparse
import glob
import json
import math
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import wave

import numpy as np
import torch

import network
from lattice import Ctc, tdt_of_logits
from network import BLANK
from sound import RATE, WARPS, Sound
from synthesise import CHOICE, EXAMS

HERE = os.path.dirname(os.path.abspath(__file__))
STRIDE = 1280  # samples a frame of the encoder stands for
EDGES = [1.2, 1.76, 2.4, 3.04, 3.68, 4.48, 5.6, 7.2, 9.6, 12.8, 16., 20.]  # seconds of the batches; whole frames
BATCH = 480.  # seconds of speech in one
AVERAGE = .9992
CTC_WEIGHT, AGREE_WEIGHT = 2., .3  # TDT's is 1; of CTC, and of how far its two hearings of a clip are apart


def shape(edge):
    """(clips, samples, most labels) of a batch of clips of up to `edge` seconds; every clip is in it twice."""
    samples = round(edge * RATE / STRIDE) * STRIDE
    return 2 * int(BATCH / edge / 2), samples, int(samples / STRIDE * .64)


def apart(heard, counts):
    """Consistency of CTC (arXiv:2410.05101): for each clip the sum over its frames of the divergence between what was heard of it twice, with other rooms,
    noise, vocal tracts and masks; each hearing learns from the other as it is. heard [2 * clips, frames, classes], logarithms; counts [2 * clips]."""
    one, other = heard.chunk(2)
    towards = [(target.exp() * (target - learner)).sum(-1) for learner, target in ((one, other.detach()), (other, one.detach()))]
    return ((towards[0] + towards[1]) * network.valid(counts[:len(one)], heard.shape[1])).sum(1) / 2


class Store:
    """Clips on the GPU, the oldest of which make room for new ones."""

    def __init__(self, hours, device):
        self.flat = torch.zeros(int(hours * 3600 * RATE) + 25 * RATE, dtype=torch.int16, device=device)
        self.device, self.end, self.seen, self.hours = device, 0, 0, 0.
        self.table = np.zeros((0, 4), np.int64)  # start, samples, labels, labels that are like the one before
        self.labels = []

    def add(self, samples, lengths, labels):
        if self.end + len(samples) > len(self.flat) - 25 * RATE:
            self.end = 0
        self.flat[self.end:self.end + len(samples)] = torch.from_numpy(samples).to(self.device)
        starts = self.end + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        facts = [(len(label), sum(a == b for a, b in zip(label, label[1:]))) for label in labels]
        old = (self.table[:, 0] + self.table[:, 1] <= self.end) | (self.table[:, 0] >= self.end + len(samples))
        if not old.all():
            self.labels = [label for label, keep in zip(self.labels, old) if keep]
            self.table = self.table[old]
        self.table = np.concatenate([self.table, np.stack([starts, lengths, *np.array(facts).T], 1)])
        self.labels += labels
        self.end += len(samples)
        self.seen += len(lengths)
        self.hours += len(samples) / RATE / 3600

    def plan(self, generator, clips, longest, speeds):
        """Batches of about `clips` clips drawn from all, in the order of training: [(shape index, [tensors])]; a batch's second half is its first again."""
        drawn = generator.permutation(len(self.table))[:clips]
        speed = np.exp(generator.uniform(math.log(speeds[0]), math.log(speeds[1]), len(drawn)))
        length = self.table[drawn, 1] / speed
        count, repeats = self.table[drawn, 2], self.table[drawn, 3]
        limits = np.array([shape(edge)[1] for edge in EDGES])
        bucket = np.searchsorted(limits, length)
        bucket = np.where(bucket < len(EDGES), bucket, len(EDGES) - 1)
        most = np.array([shape(edge)[2] for edge in EDGES])[bucket]
        fits = (length < limits[bucket]) & (count <= most) & (length / STRIDE > (count + repeats) + 1) & (length <= longest * RATE)
        batches = []
        for index, edge in enumerate(EDGES):
            clips_in, _, labels_in = shape(edge)
            mine = np.flatnonzero(fits & (bucket == index))
            for at in range(0, len(mine) - clips_in // 2 + 1, clips_in // 2):
                rows = np.tile(mine[at:at + clips_in // 2], 2)
                labels = np.zeros((clips_in, labels_in), np.int32)
                for row, i in enumerate(rows):
                    labels[row, :count[i]] = self.labels[drawn[i]]
                batches.append((index, self.table[drawn[rows], 0], self.table[drawn[rows], 1], speed[rows].astype(np.float32), labels, count[rows].astype(np.int32)))
        generator.shuffle(batches)
        return [(batch[0], [torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in batch[1:]]) for batch in batches]


class Feed:
    """Reads the workers' shards in a thread of its own."""

    def __init__(self, folder, pieces, workers):
        import sentencepiece
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=pieces)
        self.folder, self.workers, self.ready = folder, workers, queue.Queue(200)
        threading.Thread(target=self._read, daemon=True).start()

    def shard(self, name):
        with np.load(name) as shard:
            return shard["samples"], shard["lengths"].astype(np.int64), self.pieces.encode([str(line) for line in shard["text"]])

    def wait(self):
        """The next shard. Ends the program where no worker is left that could make one."""
        while True:
            try:
                return self.ready.get(timeout=5)
            except queue.Empty:
                if all(worker.poll() is not None for worker in self.workers):
                    sys.exit("no clips: every synthesise.py has ended; see what they said above (packages: README.md)")

    def _read(self):
        while os.path.isdir(self.folder):
            names = [name for name in glob.glob(self.folder + "/*.npz") if not name.endswith(".part.npz")]
            for name in names:
                self.ready.put(self.shard(name))
                os.remove(name)
            if not names:
                time.sleep(.2)


class Trainer:
    def __init__(self, store, device, rate):
        self.store, self.device, self.rate = store, device, rate
        self.sound = Sound(device)
        self.model = network.Parakeet().to(device)
        self.average = network.Parakeet().to(device).eval().requires_grad_(False)
        self.parameters = list(self.model.parameters())
        self.learning = torch.zeros((), device=device)
        graph = device.type == "cuda"
        self.optimizer = torch.optim.AdamW(self.parameters, lr=self.learning if graph else 1e-3, betas=(.9, .98), weight_decay=1e-3,
                                           **(dict(fused=True, capturable=True) if graph else {}))
        # Settings of a step that change while graphs stay: the share of clips left as they are, how much of TDT's gradient reaches the encoder.
        self.clean, self.through = torch.ones((), device=device), torch.zeros((), device=device)
        self.sums = torch.zeros(6, device=device)
        self.graphs, self.pool = {}, None
        self.known = False  # whether every weight was learnt before

    def load(self, state):
        """Goes on from a network's weights; what has another shape there (heads of another list of pieces) begins anew."""
        mine = self.model.state_dict()
        fitting = {name: value.reshape(mine[name].shape).to(mine[name].dtype) for name, value in state.items()
                   if name in mine and value.numel() == mine[name].numel()}
        self.model.load_state_dict(fitting, strict=False)
        self.average.load_state_dict(self.model.state_dict())
        self.known = mine.keys() - fitting.keys() <= {name for name in mine if name.endswith("num_batches_tracked")}

    def halves(self):
        """On a GPU alone: PyTorch's layer norms of a CPU take no halves beside weights in float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False)

    def losses(self, start, length, speed, labels, label_counts, samples):
        place = torch.arange(samples, device=self.device)[None] * speed[:, None]
        first = place.long()
        inside = first + 1 < length[:, None]
        at = (start[:, None] + first).clamp(max=len(self.store.flat) - 2)
        x = torch.lerp(self.store.flat[at].float(), self.store.flat[at + 1].float(), place - first) * inside / 32768
        counts = inside.sum(1)
        x = self.sound.distort(x, self.clean)
        bent = torch.where(torch.rand(len(x), device=self.device) < .7, torch.randint(0, WARPS, (len(x),), device=self.device), 0)
        features, frames = self.sound.features(x, counts, self.sound.warped[bent])
        features = self.sound.masked(features, frames, self.clean)
        frame_counts = network.counts_behind(frames)
        whole = frame_counts.int()
        with self.halves():
            encoded = self.model.encoder(features, frames)
            ctc = self.model.ctc(encoded)
            encoded = encoded.detach() * (1 - self.through) + encoded * self.through
            projected = self.model.encoder_projector(encoded.to(ctc.dtype))
        share = 1 / label_counts.clamp(min=1)
        # TDT's lattice takes clips x frames x labels x classes: one hearing of each clip is enough for it.
        half = len(labels) // 2
        with torch.autocast(self.device.type, enabled=False):
            predicted = self.model.decoder(labels[:half].long())
        with self.halves():
            joint = self.model.joint(projected[:half, :, None], predicted[:, None].to(projected.dtype))
        heard = ctc.float().log_softmax(-1)
        return ((Ctc.apply(heard, labels, whole, label_counts, BLANK) * share).mean(), (apart(heard, frame_counts) * share[:half]).mean(),
                (tdt_of_logits(joint, labels[:half].contiguous(), whole[:half].contiguous(), label_counts[:half].contiguous(), BLANK) * share[:half]).mean())

    def step(self, batch, samples):
        ctc, between, tdt = self.losses(*batch, samples)
        (CTC_WEIGHT * ctc + AGREE_WEIGHT * between + tdt).backward()
        gradients = [parameter.grad for parameter in self.parameters]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        # The fused AdamW divides gradients by the first and does nothing where the second is not zero.
        scale = ((norm + 1e-6) / 5.).clamp(min=1.)
        if self.device.type != "cuda" or not network.QUICK:
            torch._foreach_div_(gradients, scale)
        else:
            self.optimizer.grad_scale, self.optimizer.found_inf = scale, (~torch.isfinite(norm)).float()
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), self.parameters, 1 - AVERAGE)
            torch._foreach_lerp_([value for value in self.average.buffers() if value.is_floating_point()],
                                 [value for value in self.model.buffers() if value.is_floating_point()], 1 - AVERAGE)
            self.sums += torch.stack([ctc, between, tdt, norm.nan_to_num(1e3).clamp(max=1e3), 1 / scale, torch.ones_like(norm)]).detach()

    def capture(self, index, batch):
        clips, samples, _ = shape(EDGES[index])
        inputs = [part.clone() for part in batch]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.optimizer.zero_grad(set_to_none=True)
                self.step(inputs, samples)
        torch.cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self.step(inputs, samples)
        self.pool = self.pool or graph.pool()
        self.optimizer.zero_grad(set_to_none=True)
        self.graphs[index] = (graph, inputs)

    def run(self, index, batch):
        if self.device.type != "cuda":
            self.optimizer.zero_grad()
            self.step(batch, shape(EDGES[index])[1])
            return
        if index not in self.graphs:
            self.capture(index, batch)
        graph, inputs = self.graphs[index]
        for mine, given in zip(inputs, batch):
            mine.copy_(given)
        graph.replay()


def errors(said, wanted):
    """Word edits from one list to the other."""
    row = list(range(len(said) + 1))
    for i, word in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(said, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


def examine(model, sound, pieces, clips, device, show=0, together=50):
    """Word error rates in percent (CTC, TDT) of clips [(samples int16, text)]."""
    wrong, words = np.zeros(2), 0
    order = sorted(range(len(clips)), key=lambda i: len(clips[i][0]))
    for at in range(0, len(order), together):
        part = [clips[i] for i in order[at:at + together]]
        counts = torch.tensor([len(samples) for samples, _ in part], device=device)
        x = torch.zeros(len(part), -(-int(counts.max()) // STRIDE) * STRIDE, device=device)
        for row, (samples, _) in enumerate(part):
            x[row, :len(samples)] = torch.from_numpy(samples.astype(np.float32) / 32768).to(device)
        with torch.no_grad():
            features, frames = sound.features(x, counts)
            encoded = model.encoder(features, frames)
        frame_counts = network.counts_behind(frames)
        decoded = [model.decode_ctc(encoded, frame_counts), model.decode_tdt(encoded, frame_counts)]
        for row, (_, text) in enumerate(part):
            said = [pieces.decode([piece for piece, _ in one[row]]) for one in decoded]
            wrong += [errors(line.split(), text.split()) for line in said]
            words += len(text.split())
            if show:
                show -= 1
                print("   ", text, "|", said[0], "|", said[1], flush=True)
    return [round(float(100 * count / words), 2) for count in wrong]


def exam_clips(name):
    """[(samples, text)] of an examination's shard."""
    with np.load(name) as shard:
        samples, lengths = shard["samples"], shard["lengths"]
        return [(samples[end - length:end], str(text)) for end, length, text in zip(np.cumsum(lengths), lengths, shard["text"])]


def real_clips(folder):
    """pocketsphinx-testdata's recordings of people, never trained on: {name: clips}."""
    made = {}
    for name, lines in [("librivox", folder + "/librivox/transcription"), ("cards", folder + "/cards/cards.transcription")]:
        made[name] = []
        with open(lines) as file:
            for line in file:
                text, _, key = line.strip().rpartition("(")
                with wave.open(f"{folder}/{name}/{key.rstrip(')')}.wav") as sound:
                    made[name].append((np.frombuffer(sound.readframes(10**8), np.int16), text.replace("<s>", "").replace("</s>", "").strip().lower()))
    return made


def main():
    parser = argparse.ArgumentParser()
    for name in ("sentences", "pieces", "start", "out", "real"):
        parser.add_argument("--" + name)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--hours", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="PyTorch's own convolutions: slower")
    given = parser.parse_args()
    began = time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(given.seed)
    network.QUICK = not given.plain
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    generator = np.random.default_rng(given.seed)
    folder = tempfile.mkdtemp(dir="/dev/shm")
    exam_folder = folder + "-exam"
    os.makedirs(exam_folder)
    surroundings = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", LD_LIBRARY_PATH="/opt/voices")

    def worker(*arguments):
        return subprocess.Popen(["nice", sys.executable, HERE + "/synthesise.py", given.sentences, *map(str, arguments)], env=surroundings)

    exam = worker(exam_folder, 0, 0, "--exam")
    workers = [worker(folder, i, given.seed) for i in range(given.workers)]
    try:
        train(given, began, device, generator, folder, workers, exam_folder, exam)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for process in workers:
            process.terminate()


def train(given, began, device, generator, folder, workers, exam_folder, exam):
    feed = Feed(folder, given.pieces, workers)
    store = Store(given.hours, device)
    trainer = Trainer(store, device, given.rate)
    step, spoken = 0, time.time() - began
    if given.start:
        trainer.load(torch.load(given.start, map_location=device)["model"])
    early = 0 if given.start else 1
    while len(store.table) < 4000:
        store.add(*feed.wait())
    print(f"{time.time() - began:.0f} s: {store.seen} clips, {store.hours:.1f} h", flush=True)
    clips = {}

    def save(name, state, **facts):
        torch.save({"model": {key: value.half() if value.is_floating_point() else value for key, value in state.items()}, "step": step, **facts},
                   f"{given.out}/{name}.part")
        os.replace(f"{given.out}/{name}.part", f"{given.out}/{name}")

    def report(show, names=None):
        if not clips:
            exam.wait()
            for name in [*EXAMS, CHOICE]:
                if os.path.exists(f"{exam_folder}/{name}.npz"):
                    clips[name] = exam_clips(f"{exam_folder}/{name}.npz")
                    shutil.copy(f"{exam_folder}/{name}.npz", given.out)
            if given.real:
                clips.update(real_clips(given.real))
        return {name: examine(trainer.average, trainer.sound, feed.pieces, some, device, show) for name, some in clips.items() if names is None or name in names}

    next_report, next_save = 25., 60.
    next_exam = .4
    done = False
    while not done:
        while not feed.ready.empty():
            store.add(*feed.ready.get())
        longest = 2.6 if early else 20
        for index, batch in store.plan(generator, 60000, longest, (.97, 1.03) if early else (.87, 1.15)):
            spent = time.time() - began
            progress = spent / given.seconds
            if progress >= 1:
                done = True
                break
            rate = given.rate * min(1, (step + 1) / 400) * min(1, (1 - progress) / .75)
            trainer.learning.fill_(rate)
            if device.type != "cuda":
                trainer.optimizer.param_groups[0]["lr"] = rate
            trainer.clean.fill_(1. if early else .2)
            trainer.through.fill_(1. if trainer.known else min(1., max(0., (step - 500) / 1500)))
            trainer.run(index, batch)
            step += 1
            if spent > next_report or progress > next_exam and not early:
                ctc, between, tdt, norm, scale, count = trainer.sums.tolist()
                trainer.sums.zero_()
                print(f"{spent:.0f} s step {step} ctc {ctc / count:.3f} apart {between / count:.3f} tdt {tdt / count:.3f} norm {norm / count:.2f} {(spent - spoken) / count * 1e3:.1f} ms/step "
                      f"store {len(store.table)} clips of {store.seen}, {store.hours:.0f} h made", flush=True)
                if early and ctc / count < 2.2:
                    early = 0
                next_report, spoken = spent + 25, spent
                if progress > next_exam:
                    save(f"at-{round(100 * next_exam)}.pt", trainer.average.state_dict())  # for choose.py
                    print("   word error rates % (CTC, TDT)", report(0, ("seen", CHOICE)), flush=True)
                    next_exam += .2
            if spent > next_save:
                save("checkpoint.pt", trainer.average.state_dict())
                next_save = spent + 60
    rates = report(6)
    print(f"steps {step}, {store.seen} clips, {store.hours:.0f} h; word error rates % (CTC, TDT):", json.dumps(rates), flush=True)
    save("checkpoint.pt", trainer.average.state_dict(), rates=rates)
    save("last.pt", trainer.model.state_dict())
    with open(given.out + "/rates.json", "w") as file:
        json.dump({"steps": step, "clips": store.seen, "hours": round(store.hours, 1), "rates": rates}, file)


if __name__ == "__main__":
    main()
