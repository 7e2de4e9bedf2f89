// Inputs that anybody can make again, and .npy files. tests/onnx/networks_test.cpp makes the same.
'use strict';
const fs = require('fs');

// Of element i, in float64: noise of a linear congruential generator, 0 to 1, under a pattern.
function make(input, shape, step) {
  const count = shape.reduce((a, b) => a * b, 1);
  if (input.kind === 'number') return { type: 'int64', data: BigInt64Array.of(BigInt(input.value)), dims: shape };
  const data = new Float32Array(count), width = shape[shape.length - 1], height = shape.length > 1 ? shape[shape.length - 2] : 1;
  let state = 12345 + step;
  for (let i = 0; i < count && input.kind !== 'zeros'; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const noise = state / 4294967296, x = i % width, y = Math.floor(i / width) % height;
    const dark = ((x >> 2) + (y >> 3)) % 3 === 0 && (y >> 3) % 2 === 0;
    const pattern = input.kind === 'waves' ? ((i * (3 + step)) % 64 - 32) / 80 : dark ? -1 : 0.8;
    data[i] = (pattern + noise * 0.2) * (input.scale || 1) + (input.add || 0);
  }
  return { type: 'float32', data, dims: shape };
}

function write(file, tensor) {
  const descr = { float32: '<f4', int64: '<i8' }[tensor.type], { dims, data } = tensor;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims.join(', ')}${dims.length === 1 ? ',' : ''}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  fs.writeFileSync(file, Buffer.concat([start, Buffer.from(header), Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
}

// The numbers of a file as ours are written: f32 and i64.
function read(file) {
  const bytes = fs.readFileSync(file), begin = 10 + bytes.readUInt16LE(8);
  const data = Uint8Array.from(bytes.subarray(begin)).buffer;
  return bytes.toString('latin1', 10, begin).includes("'<f4'") ? new Float32Array(data) : new BigInt64Array(data);
}

module.exports = { make, read, write };
