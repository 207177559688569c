// An encoder in ONNX Runtime that waits for work: a line "BATCHxLENGTH SECONDS" on standard input is
// answered by a line of JSON with the time of each run. usage: node ort_encoder.cjs MODEL.onnx THREADS
// ORT_NODE names the folder of the npm package onnxruntime-node.
'use strict';

const ort = require(process.env.ORT_NODE || 'onnxruntime-node');
const readline = require('readline');

function feeds(batch, length) {
  const n = batch * length;
  const ids = BigInt64Array.from({ length: n }, (_, i) => BigInt(1000 + (i * 7919) % 20000));
  const ones = new BigInt64Array(n).fill(1n);
  return {
    input_ids: new ort.Tensor('int64', ids, [batch, length]),
    attention_mask: new ort.Tensor('int64', ones, [batch, length]),
  };
}

async function timed(session, batch, length, seconds) {
  const input = feeds(batch, length);
  const times = [];
  await session.run(input); // buffers of this shape
  const before = process.cpuUsage();
  const end = performance.now() + 1e3 * seconds;
  while (performance.now() < end || times.length < 3) {
    const start = performance.now();
    await session.run(input);
    times.push(performance.now() - start);
  }
  const cpu = process.cpuUsage(before);
  return { times_ms: times, cpu_ms: (cpu.user + cpu.system) / 1e3 };
}

async function main() {
  const session = await ort.InferenceSession.create(process.argv[2], {
    graphOptimizationLevel: 'all', intraOpNumThreads: +process.argv[3], interOpNumThreads: 1,
    executionMode: 'sequential',
  });
  process.stdout.write('ready\n');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [shape, seconds] = line.split(' ');
    const [batch, length] = shape.split('x').map(Number);
    process.stdout.write(JSON.stringify(await timed(session, batch, length, +seconds)) + '\n');
  }
}

main();
