// node compare.js ONNX PHOTO WHITE BACKPLANE MODELS OUT.json    ours and ONNX Runtime in turns, in fresh processes; a table and JSON.
// MODEL=medium SCALE=2 SIZES=128,256 THREADS=2,1 ROUNDS=5 in the environment change what is compared.
'use strict';
const { execFileSync } = require('child_process');
const fs = require('fs'), os = require('os'), path = require('path');

const [onnx, photo, white, backplane, models, out] = process.argv.slice(2);
const numbers = (name, otherwise) => (process.env[name] || otherwise).split(',').map(Number);
const model = process.env.MODEL || 'medium', scale = process.env.SCALE || '2';
const [rounds] = numbers('ROUNDS', '5');
const median = list => { const s = [...list].sort((a, b) => a - b), h = s.length >> 1; return s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2; };
const call = (program, args) => JSON.parse(execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
const theirs = (size, threads) => call(process.execPath, [path.join(__dirname, 'ort_bench.js'), onnx, photo, white, size, threads, 5, 2].map(String));
const ours = (size, threads) => call(backplane, ['bench', 'esrgan', '--model', model, '--scale', scale, '--models', models, '--size', size, '--threads', threads,
  '--runs', 5, '--json'].map(String));

const cores = os.availableParallelism ? os.availableParallelism() : os.cpus().length;
const rows = [];
console.log(`esrgan ${model} x${scale}, float32, ${os.cpus()[0].model}, ${cores} cores; medians of ${rounds} rounds in turns`);
console.log('threads  input    ONNX Runtime      ours   ratio  least..most   ours of FMA peak');
for (const threads of numbers('THREADS', '2,1')) {
  for (const size of numbers('SIZES', '128,256')) {
    const a = [], b = [];
    for (let round = 0; round < rounds; round++) {
      // Who goes first changes: neither always finds the machine warm.
      if (round % 2) { b.push(ours(size, threads)); a.push(theirs(size, threads)); } else { a.push(theirs(size, threads)); b.push(ours(size, threads)); }
    }
    const row = {
      model, scale: Number(scale), size, threads, onnxruntime: a[0].version, device: b[0].device, name: b[0].name,
      onnxruntime_ms: median(a.map(r => r.median_ms)), ours_ms: median(b.map(r => r.median_ms)),
      ratio_rounds: a.map((r, i) => r.median_ms / b[i].median_ms), gflops: median(b.map(r => r.gflops)), peak_gflops: median(b.map(r => r.peak_gflops)),
      load1: os.loadavg()[0],
    };
    row.ratio = row.onnxruntime_ms / row.ours_ms;
    row.share_of_peak = row.gflops / row.peak_gflops;
    rows.push(row);
    console.log(`${String(threads).padStart(7)}  ${`${size}x${size}`.padEnd(7)} ${row.onnxruntime_ms.toFixed(1).padStart(9)} ms ${row.ours_ms.toFixed(1).padStart(9)} ms  `
      + `${row.ratio.toFixed(2)}   ${Math.min(...row.ratio_rounds).toFixed(2)}..${Math.max(...row.ratio_rounds).toFixed(2)}     ${row.share_of_peak.toFixed(2)}`
      + ` (${row.gflops.toFixed(0)} of ${row.peak_gflops.toFixed(0)} GFLOP/s)`);
  }
}
fs.writeFileSync(out, JSON.stringify({ date: new Date().toISOString().slice(0, 10), cpu: os.cpus()[0].model, cores, rounds, rows }, null, 1) + '\n');
console.log(`ratio: time of ONNX Runtime ${rows[0].onnxruntime} / ours, above 1 we are faster. GFLOP/s count the convolutions as written; Winograd can pass the peak.`);
console.log(`written: ${out}`);
if (Math.max(...rows.map(r => r.load1)) > cores + 0.5) console.log(`the machine was busy (load ${Math.max(...rows.map(r => r.load1)).toFixed(1)} on ${cores} cores): run again when it is quiet`);
