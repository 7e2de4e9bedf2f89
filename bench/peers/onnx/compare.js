// node compare.js BACKPLANE WORK OUT.json    ours and ONNX Runtime in turns, in fresh processes, on the networks of networks.json; a table and JSON.
// THREADS=2 ROUNDS=5 NETWORKS=silero_vad_v6,... in the environment change what is compared. Exit code 1: fewer than all networks were there.
'use strict';
const { execFileSync } = require('child_process');
const fs = require('fs'), os = require('os'), path = require('path');
const { make, write } = require('./tensors');

const [backplane, work, out] = process.argv.slice(2);
const threads = Number(process.env.THREADS || 2), rounds = Number(process.env.ROUNDS || 5);
const median = list => { const s = [...list].sort((a, b) => a - b), h = s.length >> 1; return s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2; };
const call = (program, args) => JSON.parse(execFileSync(program, args.map(String), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
const all = JSON.parse(fs.readFileSync(path.join(__dirname, 'networks.json'), 'utf8'));
const wanted = process.env.NETWORKS ? process.env.NETWORKS.split(',') : all.map(n => n.name);

function inputsFor(of) {
  return of.inputs.map(input => {
    const file = path.join(work, `${of.name}-${input.name}.npy`);
    write(file, make(input, (of.timed || {})[input.name] || input.shape, 0));
    return `${input.name}=${file}`;
  });
}

const rows = [];
let missing = 0;
console.log(`${os.cpus()[0].model}, ${threads} threads; medians of ${rounds} rounds in turns`);
console.log('network                   ONNX Runtime         ours   ratio  least..most');
for (const of of all.filter(n => wanted.includes(n.name))) {
  if (!fs.existsSync(of.file)) { console.log(`${of.name.padEnd(24)} is not here: ${of.file}`); missing++; continue; }
  const inputs = inputsFor(of).flatMap(input => ['--input', input]);
  const theirs = () => call(process.execPath, [path.join(__dirname, 'ort.js'), 'time', of.name, threads, 5, 2]);
  const ours = () => {
    const run = repeat => call(backplane, ['run', of.file, ...inputs, '--device', 'cpu', '--threads', threads, '--repeat', repeat, '--json']);
    return run(Math.max(5, Math.min(20000, Math.round(2000 / run(5).least_ms))));
  };
  const a = [], b = [];
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes: neither always finds the machine warm.
    if (round % 2) { b.push(ours()); a.push(theirs()); } else { a.push(theirs()); b.push(ours()); }
  }
  const row = { name: of.name, threads, onnxruntime: a[0].version, onnxruntime_ms: median(a.map(r => r.median_ms)), ours_ms: median(b.map(r => r.median_ms)),
    ratio_rounds: a.map((r, i) => r.median_ms / b[i].median_ms), load1: os.loadavg()[0] };
  row.ratio = row.onnxruntime_ms / row.ours_ms;
  rows.push(row);
  console.log(`${of.name.padEnd(24)} ${row.onnxruntime_ms.toFixed(3).padStart(10)} ms ${row.ours_ms.toFixed(3).padStart(9)} ms  ${row.ratio.toFixed(2).padStart(5)}   `
    + `${Math.min(...row.ratio_rounds).toFixed(2)}..${Math.max(...row.ratio_rounds).toFixed(2)}`);
}
const mean = Math.exp(rows.reduce((sum, row) => sum + Math.log(row.ratio), 0) / rows.length);
fs.writeFileSync(out, JSON.stringify({ date: new Date().toISOString().slice(0, 10), cpu: os.cpus()[0].model, rounds, geometric_mean: mean, rows }, null, 1) + '\n');
console.log(`geometric mean of the ratios ${mean.toFixed(2)}; above 1 we are faster. Written: ${out}`);
process.exit(missing ? 1 : 0);
