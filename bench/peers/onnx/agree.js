// node agree.js BACKPLANE WORK [DEVICE]    how far ours are from ONNX Runtime on the networks of networks.json, in the sizes that are timed and with the
// states of their steps: a line each. Exit code 1: a value is off by more than 1e-4 of it and 1e-5 of the largest of its output.
'use strict';
const { execFileSync } = require('child_process');
const fs = require('fs'), path = require('path');
const ort = require('onnxruntime-node');
const { make, read, write } = require('./tensors');

const [backplane, work, device = 'cpu'] = process.argv.slice(2);

function ours(of, inputs, names) {
  const files = names.map((_, i) => path.join(work, `agree-${i}.npy`)), args = ['run', of.file, '--device', device];
  for (const [name, { type, data, dims }] of Object.entries(inputs)) {
    const file = path.join(work, `agree-in-${name}.npy`);
    write(file, { type, data, dims: [...dims] });
    args.push('--input', `${name}=${file}`);
  }
  names.forEach((name, i) => args.push('--output', `${name}=${files[i]}`));
  execFileSync(backplane, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return files.map(read);
}

async function agree(of) {
  const session = await ort.InferenceSession.create(of.file, { graphOptimizationLevel: 'all', logSeverityLevel: 3 });
  let theirs = {}, values = 0, far = 0, allowed = 0;
  for (let step = 0; step < (of.steps || 1); step++) {
    const inputs = Object.fromEntries(of.inputs.map(input => {
      const { type, data, dims } = make(input, (of.timed || {})[input.name] || input.shape, step);
      return [input.name, new ort.Tensor(type, data, dims)];
    }));
    for (const [from, to] of Object.entries(of.feedback || {})) if (step > 0) inputs[to] = theirs[from];
    theirs = await session.run(inputs);
    const names = Object.keys(theirs), results = ours(of, inputs, names);
    names.forEach((name, n) => {
      const want = theirs[name].data, got = results[n];
      if (got.length !== want.length) throw new Error(`${name} has ${got.length} values, not ${want.length}`);
      const most = want.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-30);
      for (let i = 0; i < want.length; i++, values++) {
        const off = Math.abs(got[i] - want[i]);
        far = Math.max(far, Number.isNaN(off) ? Infinity : off / most);
        allowed = Math.max(allowed, Number.isNaN(off) ? Infinity : off / (1e-4 * Math.abs(want[i]) + 1e-5 * most));
      }
    });
  }
  console.log(`${of.name.padEnd(24)} ${String(values).padStart(7)} values  ${far.toExponential(1)}  ${allowed.toFixed(2)}`);
  return allowed <= 1;
}

(async () => {
  console.log('network                           off by most: of the largest of its output, of what is allowed');
  let all = true;
  for (const of of JSON.parse(fs.readFileSync(path.join(__dirname, 'networks.json'), 'utf8'))) all = await agree(of) && all;
  process.exit(all ? 0 : 1);
})().catch(error => { console.error(`agree: ${error.message}`); process.exit(1); });
