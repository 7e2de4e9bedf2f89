// node ort.js time NAME THREADS RUNS SECONDS    times ONNX Runtime on a network of networks.json; prints a line of JSON
// node ort.js golden NAME FOLDER                      what it computes: FOLDER/NAME.json, for tests/onnx/networks_test.cpp
'use strict';
const fs = require('fs'), path = require('path');
const ort = require('onnxruntime-node');
const { make } = require('./tensors');
const network = name => JSON.parse(fs.readFileSync(path.join(__dirname, 'networks.json'), 'utf8')).find(n => n.name === name);
const open = (file, threads) => ort.InferenceSession.create(file, {
  intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all', logSeverityLevel: 3,
});
const feed = (of, step, sizes) => Object.fromEntries(of.inputs.map(input => {
  const { type, data, dims } = make(input, sizes[input.name] || input.shape, step);
  return [input.name, new ort.Tensor(type, data, dims)];
}));

async function time(of, threads, runs, seconds) {
  const session = await open(of.file, threads), inputs = feed(of, 0, of.timed || {});
  await session.run(inputs);
  const times = [], start = process.hrtime.bigint();
  while (times.length < runs || Number(process.hrtime.bigint() - start) < seconds * 1e9) {
    const before = process.hrtime.bigint();
    await session.run(inputs);
    times.push(Number(process.hrtime.bigint() - before) / 1e6);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({ version: ort.env.versions.node, median_ms: times[times.length >> 1], least_ms: times[0], runs: times.length }));
}

const MOST = 1000;  // values of an output that are kept

async function golden(of, folder) {
  const session = await open(of.file, 1);
  let results = {}, inputs = {};
  for (let step = 0; step < (of.steps || 1); step++) {
    inputs = feed(of, step, {});
    for (const [from, to] of Object.entries(of.feedback || {})) if (step > 0) inputs[to] = results[from];
    results = await session.run(inputs);
  }
  const outputs = Object.entries(results).map(([name, tensor]) => {
    const values = tensor.data, step = Math.max(1, Math.floor(values.length / MOST)), at = [];
    for (let i = 0; i < values.length; i += step) at.push(i);
    const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    return { name, shape: tensor.dims, most, every: step, values: at.map(i => values[i]) };
  });
  const { name, file, inputs: made, steps = 1, feedback = {} } = of;
  fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify({
    file, onnxruntime: ort.env.versions.node, steps, feedback: Object.entries(feedback).map(([from, to]) => ({ from, to })), inputs: made, outputs,
  }) + '\n');
}

const [what, name, ...rest] = process.argv.slice(2);
(what === 'time' ? time(network(name), ...rest.map(Number)) : golden(network(name), ...rest))
  .catch(error => { console.error(`ort: ${name}: ${error.message}`); process.exit(1); });
