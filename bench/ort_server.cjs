// What people put together before they look for a server: ONNX Runtime behind HTTP in Node, with dynamic batching
// that pads to the longest. POST /v1/embeddings {"input": [ids...]} is answered as OpenAI's API answers.
// usage: node ort_server.cjs MODEL.onnx THREADS PORT [MAX_BATCH] [MAX_WAIT_MS]; ORT_NODE as for ort_encoder.cjs
'use strict';

const http = require('http');
const ort = require(process.env.ORT_NODE || 'onnxruntime-node');

const [model, threads, port, maxBatch = '16', maxWait = '5'] = process.argv.slice(2);
const waiting = [];
let session = null;
let busy = false;
let timer = null;

function tensors(items) {
  const length = Math.max(...items.map((i) => i.ids.length));
  const ids = new BigInt64Array(items.length * length);
  const mask = new BigInt64Array(items.length * length);
  items.forEach((item, row) => item.ids.forEach((id, column) => {
    ids[row * length + column] = BigInt(id);
    mask[row * length + column] = 1n;
  }));
  const dims = [items.length, length];
  return { input_ids: new ort.Tensor('int64', ids, dims), attention_mask: new ort.Tensor('int64', mask, dims) };
}

// The mean of the states of a sequence's own tokens, of length 1.
function embedding(states, row, length, dim, n) {
  const mean = new Float32Array(dim);
  for (let t = 0; t < n; t++) {
    for (let k = 0; k < dim; k++) mean[k] += states[(row * length + t) * dim + k];
  }
  const norm = Math.hypot(...mean);
  return Array.from(mean, (v) => v / norm);
}

async function step() {
  clearTimeout(timer);
  timer = null;
  if (busy || waiting.length === 0) return;
  busy = true;
  const items = waiting.splice(0, +maxBatch);
  const { last_hidden_state: out } = await session.run(tensors(items));
  const [, length, dim] = out.dims;
  items.forEach((item, row) => item.answer(embedding(out.data, row, length, dim, item.ids.length)));
  busy = false;
  schedule();
}

function schedule() {
  if (waiting.length >= +maxBatch) step();
  else if (waiting.length > 0 && !timer) timer = setTimeout(step, +maxWait);
}

function serve(request, response) {
  let body = '';
  request.on('data', (chunk) => { body += chunk; });
  request.on('end', () => {
    if (request.method === 'GET') return response.end('{"status":"ok"}');
    const { input } = JSON.parse(body);
    const ids = Array.isArray(input[0]) ? input[0] : input;
    waiting.push({ ids, answer: (vector) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: vector }],
        model: 'bert', usage: { prompt_tokens: ids.length, total_tokens: ids.length } }));
    } });
    return schedule();
  });
}

async function main() {
  session = await ort.InferenceSession.create(model, { graphOptimizationLevel: 'all', intraOpNumThreads: +threads,
    interOpNumThreads: 1, executionMode: 'sequential' });
  http.createServer(serve).listen(+port, '127.0.0.1');
}

main();
