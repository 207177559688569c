#!/usr/bin/env node
// A chat service on Node's own HTTP server: events end in LF, every second one goes out in one write
// with its successor. Prints its port; each answer is a line of the file of --log: when the request
// had come, when each token was written, when the end was, in ns of the monotonic clock.
'use strict';
const fs = require('fs');
const http = require('http');

const log = fs.openSync(process.argv[process.argv.indexOf('--log') + 1], 'w');
const now = () => Number(process.hrtime.bigint());
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const chunk = (delta, finish) => `data: ${JSON.stringify({
	object: 'chat.completion.chunk',
	choices: [{ index: 0, delta, finish_reason: finish ?? null }],
})}\n\n`;

async function answer(request, response, received) {
	let body = '';
	for await (const piece of request)
		body += piece;
	const { max_tokens: n, messages } = JSON.parse(body);
	const entry = { received_ns: received, sent_ns: [], input: messages[0].content.split(' ').length, output: n };
	response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
	response.write(chunk({ role: 'assistant', content: '' }));
	await pause(30);
	for (let sent = 0; sent < n;) {
		const some = sent % 3 === 0 ? 1 : Math.min(2, n - sent);
		entry.sent_ns.push(...Array(some).fill(now()));
		response.write(Array(some).fill(chunk({ content: ' x' })).join(''));
		sent += some;
		await pause(10);
	}
	const usage = { prompt_tokens: entry.input, completion_tokens: n, total_tokens: entry.input + n };
	response.end(`${chunk({}, 'length')}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
	entry.done_ns = now();
	fs.writeSync(log, `${JSON.stringify(entry)}\n`);
}

const server = http.createServer((request, response) => {
	if (request.method === 'POST')
		answer(request, response, now());
	else
		response.end('{"data":[{"id":"node"}]}');
});
server.listen(0, '127.0.0.1', 511, () => console.log(server.address().port));
