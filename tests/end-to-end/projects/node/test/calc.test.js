const test = require('node:test');
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const http = require('node:http');
const os = require('node:os');
const { Worker } = require('node:worker_threads');
const { add } = require('../calc.js');

test('add', () => assert.strictEqual(add(2, 3), 5));

test('network interfaces', () => assert.ok(os.networkInterfaces().lo.some((each) => each.address === '127.0.0.1')));

test('a worker thread', async () => {
	const worker = new Worker('require("node:worker_threads").parentPort.postMessage(7)', { eval: true });
	assert.strictEqual(await new Promise((resolve) => worker.once('message', resolve)), 7);
});

test('a child process', () => assert.strictEqual(execFileSync('echo', ['yes']).toString(), 'yes\n'));

test('a server by name', async () => {
	const server = http.createServer((request, response) => response.end('hello')).listen(0, 'localhost');
	await new Promise((resolve) => server.once('listening', resolve));
	const response = await fetch(`http://localhost:${server.address().port}/`);
	assert.strictEqual(await response.text(), 'hello');
	server.closeAllConnections();
	server.close();
});
