// A TensorFlow.js layers model on disk, as its authors load it; used by tfjs2onnx.js and tests/e2e/golden/make.js.
'use strict';
const fs = require('fs'), path = require('path');

// {json, specs, weights: name -> {shape, data}}; every byte of the weight files is accounted for.
function readModel(file) {
  const json = JSON.parse(fs.readFileSync(file, 'utf8'));
  const folder = path.dirname(file);
  const specs = json.weightsManifest.flatMap(group => group.weights);
  const data = Buffer.concat(json.weightsManifest.flatMap(group => group.paths.map(p => fs.readFileSync(path.join(folder, p)))));
  const weights = new Map();
  let offset = 0;
  for (const { name, shape, dtype, quantization } of specs) {
    if (dtype !== 'float32' || quantization) throw new Error(`weight ${name} is not plain float32`);
    const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
    new Uint8Array(values.buffer).set(data.subarray(offset, offset + values.byteLength));
    weights.set(name, { shape, data: values });
    offset += values.byteLength;
  }
  if (offset !== data.length) throw new Error(`${file}: its weights use ${offset} of ${data.length} bytes`);
  return { json, specs, data, weights };
}

// The two layers of esrgan-thick that TensorFlow.js does not have, as the model's package defines them.
function registerLayers(tf) {
  const only = x => (Array.isArray(x) ? x[0] : x);
  class MultiplyBeta extends tf.layers.Layer {
    constructor(config) { super(config); this.beta = config.beta; }
    call(x) { return tf.mul(only(x), this.beta); }
  }
  MultiplyBeta.className = 'MultiplyBeta';
  tf.serialization.registerClass(MultiplyBeta);
  for (const scale of [2, 3, 4, 8]) {
    class PixelShuffle extends tf.layers.Layer {
      constructor(config) { super(config); }
      computeOutputShape([n, h, w]) { return [n, h && h * scale, w && w * scale, 3]; }
      call(x) { return tf.depthToSpace(only(x), scale, 'NHWC'); }
    }
    PixelShuffle.className = `PixelShuffle${scale}x`;
    tf.serialization.registerClass(PixelShuffle);
  }
}

// registerLayers() once before.
function loadModel(tf, file) {
  const { json, specs, data } = readModel(file);
  const weightData = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  return tf.loadLayersModel({ load: async () => ({ modelTopology: json.modelTopology, weightSpecs: specs, weightData }) });
}

// RGB, rows of pixels, 0 to 255; alpha is dropped.
function readPhoto(file) {
  const { PNG } = require('pngjs');
  const { width, height, data } = PNG.sync.read(fs.readFileSync(file));
  const rgb = new Float32Array(width * height * 3);
  for (let i = 0; i < width * height; i++) for (let c = 0; c < 3; c++) rgb[3 * i + c] = data[4 * i + c];
  return { width, height, rgb };
}

// What 255 of a picture is to the model: the thick one counts from 0 to 1.
const whiteOf = model => (model === 'thick' ? 1 : 255);

module.exports = { readModel, registerLayers, loadModel, readPhoto, whiteOf };
