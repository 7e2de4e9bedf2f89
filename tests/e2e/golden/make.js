// node make.js [--whole] MODEL.json PHOTO.png NAME SCALE FOLDER    what TensorFlow.js makes of the photograph, for test_golden.cpp
//   FOLDER/esrgan-NAME-xSCALE.json  a third of it on the border: 1,365 pixels and their unclamped values, three a pixel, 0 to 255
//   --whole: FOLDER/esrgan-NAME-xSCALE.f32 instead, all values (float32, little-endian, rows of RGB)
// Runs in build/peers/esrgan, where `bench/peers/esrgan/run` puts it beside TensorFlow.js; docs/testing.md has the commands.
'use strict';
const fs = require('fs'), path = require('path');
const tf = require('@tensorflow/tfjs');
const wasm = require('@tensorflow/tfjs-backend-wasm');
const { registerLayers, loadModel, readPhoto, whiteOf } = require('./tfjs_model');

const PIXELS = 1365;

// Pixels spread over the whole picture, every third one on the border, where padding shows. Sorted, none twice.
function choosePixels(width, height) {
  let state = 12345;
  const random = below => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor(state / 4294967296 * below); };
  const chosen = new Set();
  while (chosen.size < PIXELS) {
    let x = random(width), y = random(height);
    if (chosen.size % 3 === 0) [x, y] = [[0, y], [width - 1, y], [x, 0], [x, height - 1]][random(4)];
    chosen.add(y * width + x);
  }
  return [...chosen].sort((a, b) => a - b);
}

async function main(args) {
  const whole = args[0] === '--whole';
  const [modelFile, photo, name, scale, folder] = whole ? args.slice(1) : args;
  wasm.setWasmPaths(path.join(path.dirname(require.resolve('@tensorflow/tfjs-backend-wasm')), path.sep));
  if (!await tf.setBackend('wasm')) throw new Error('TensorFlow.js has no wasm backend here');
  registerLayers(tf);
  const model = await loadModel(tf, modelFile);
  const { width, height, rgb } = readPhoto(photo), white = whiteOf(name);
  const result = model.predict(tf.tensor4d(rgb.map(v => v * (white / 255)), [1, height, width, 3]));
  const [, outHeight, outWidth] = result.shape;
  const values = (await result.data()).map(v => v * (255 / white));
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `esrgan-${name}-x${scale}`);
  if (whole) {
    fs.writeFileSync(`${file}.f32`, Buffer.from(values.buffer, values.byteOffset, values.byteLength));
    return console.log(`${file}.f32`);
  }
  const pixels = choosePixels(outWidth, outHeight);
  const samples = pixels.map(p => [p, ...Array.from(values.slice(3 * p, 3 * p + 3), v => Number(v.toFixed(4)))]);
  fs.writeFileSync(`${file}.json`, `{"made_by": "TensorFlow.js ${tf.version.tfjs}, wasm", "input": [${height}, ${width}], "output": [${outHeight}, ${outWidth}],\n`
    + ` "samples": [\n${samples.map(s => JSON.stringify(s)).join(',\n')}\n]}\n`);
  console.log(`${file}.json`);
}
main(process.argv.slice(2)).catch(error => { console.error(`make.js: ${error.message}`); process.exit(1); });
