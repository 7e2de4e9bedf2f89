// node ort_bench.js MODEL.onnx PHOTO.png WHITE SIZE THREADS RUNS SECONDS    times ONNX Runtime; prints one line of JSON.
// The photograph repeats to fill SIZE x SIZE. One warm-up run, then at least RUNS runs and SECONDS seconds.
'use strict';
const ort = require('onnxruntime-node');
const { readPhoto } = require('./tfjs_model');

async function main([model, photo, white, size, threads, runs, seconds]) {
  size = Number(size);
  const { width, height, rgb } = readPhoto(photo);
  const x = new Float32Array(3 * size * size);
  for (let c = 0; c < 3; c++)
    for (let row = 0; row < size; row++)
      for (let column = 0; column < size; column++)
        x[(c * size + row) * size + column] = rgb[3 * ((row % height) * width + (column % width)) + c] * (Number(white) / 255);
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all',
  });
  const input = { [session.inputNames[0]]: new ort.Tensor('float32', x, [1, 3, size, size]) };
  await session.run(input);
  const times = [], start = process.hrtime.bigint();
  while (times.length < Number(runs) || Number(process.hrtime.bigint() - start) < Number(seconds) * 1e9) {
    const before = process.hrtime.bigint();
    await session.run(input);
    times.push(Number(process.hrtime.bigint() - before) / 1e6);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({ version: ort.env.versions.node, median_ms: times[times.length >> 1], least_ms: times[0], runs: times.length }));
}
main(process.argv.slice(2)).catch(error => { console.error(`ort_bench: ${error.message}`); process.exit(1); });
