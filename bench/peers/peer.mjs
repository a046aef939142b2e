// What people would build instead of halter, each behind the same few functions, so that
// `halter bench --peers` can ask all of them the same questions: one command a line, one answer.
//
//   peer.mjs NAME PLUGIN PAYLOAD        version · E1 COUNT · E2 COUNT · E4 COUNT · harm KIND
//   peer.mjs NAME PLUGIN PAYLOAD harm KIND   a host of its own that runs a plugin which means harm
//
// A figure that has no meaning for a peer is answered with "none". Extism is not among them: its
// JavaScript has to be compiled by a program of its own that npm does not have.
import { fork, spawn } from 'node:child_process';
import fs from 'node:fs';
import readline from 'node:readline';
import vm from 'node:vm';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createRequire } from 'node:module';

const self = new URL(import.meta.url).pathname;
const require = createRequire(import.meta.url);
const now = () => process.hrtime.bigint();
const DEADLINE_MS = 20;

// ---- the peers: make(source) gives { call(json, ms): Promise<json>, end() } ----------------------

/** Runs the plugin in a context of its own and answers messages with what transform gives. */
function serve(source, receive, send) {
  const context = vm.createContext({});
  vm.runInContext(source, context);
  const run = vm.runInContext('(json) => JSON.stringify(transform(JSON.parse(json)))', context);
  receive(({ id, json }) => send({ id, json: run(json) }));
}

/** The caller's side of a process or thread that is killed at the deadline. */
function remote(post, kill, events) {
  let pending = null, gone = false;
  const fail = why => {
    gone = true;
    pending?.reject(new Error(why));
    pending = null;
  };
  events(message => {
    clearTimeout(pending?.timer);
    pending?.resolve(message.json);
    pending = null;
  }, fail);
  return {
    call: (json, ms) => new Promise((resolve, reject) => {
      if (gone) return reject(new Error('gone'));
      const timer = setTimeout(() => { fail('deadline'); kill(); }, ms);
      pending = { resolve, reject, timer };
      post({ id: 1, json });
    }),
    end: kill,
  };
}

const peers = {
  'fork-vm': () => ({
    version: `node ${process.version} fork + vm`,
    make: async source => {
      const child = fork(self, ['--child', source], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      return remote(message => child.send(message), () => child.kill('SIGKILL'), (got, lost) => {
        child.on('message', got);
        child.on('exit', () => lost('exit'));
        child.on('error', () => lost('error'));
      });
    },
  }),
  worker: () => ({
    version: `node ${process.version} Worker`,
    make: async source => {
      const worker = new Worker(self, { workerData: { source }, resourceLimits: { maxOldGenerationSizeMb: 128 } });
      return remote(message => worker.postMessage(message), () => worker.terminate(), (got, lost) => {
        worker.on('message', got);
        worker.on('exit', () => lost('exit'));
        worker.on('error', () => lost('error'));
      });
    },
  }),
  'isolated-vm': () => {
    const ivm = require('isolated-vm');
    return {
      version: `isolated-vm ${require('isolated-vm/package.json').version}`,
      make: async source => {
        const isolate = new ivm.Isolate({ memoryLimit: 128 });
        const context = await isolate.createContext();
        await context.eval(source);
        const run = await context.eval('(json) => JSON.stringify(transform(JSON.parse(json)))', { reference: true });
        return {
          call: (json, ms) => run.apply(undefined, [json], { timeout: ms }),
          end: () => { if (!isolate.isDisposed) isolate.dispose(); },
        };
      },
    };
  },
  quickjs: async () => {
    const { getQuickJS, shouldInterruptAfterDeadline } = require('quickjs-emscripten');
    const quickjs = await getQuickJS();
    return {
      version: `quickjs-emscripten ${JSON.parse(fs.readFileSync(new URL('./node_modules/quickjs-emscripten/package.json', import.meta.url))).version}`,
      make: async source => {
        const runtime = quickjs.newRuntime();
        runtime.setMemoryLimit(128 << 20);
        const context = runtime.newContext();
        context.unwrapResult(context.evalCode(source)).dispose();
        const run = context.unwrapResult(context.evalCode('(json) => JSON.stringify(transform(JSON.parse(json)))'));
        return {
          call: async (json, ms) => {
            runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + ms));
            const text = context.newString(json);
            const result = context.callFunction(run, context.undefined, text);
            text.dispose();
            if (result.error) {
              result.error.dispose();
              throw new Error('deadline');
            }
            const value = context.getString(result.value);
            result.value.dispose();
            return value;
          },
          end: () => { run.dispose(); context.dispose(); runtime.dispose(); },
        };
      },
    };
  },
};

// ---- figures -------------------------------------------------------------------------------------

const tick = 'globalThis.transform = (raw) => raw + 1;';
const hangs = 'globalThis.transform = (raw) => { while (raw === "hang"); return raw; };';

/** A new plugin to its first answer. */
async function start(peer, count) {
  const samples = [];
  for (let i = 0; i < count; i++) {
    const began = now();
    const one = await peer.make(tick);
    const answer = await one.call('41', 10000);
    samples.push(now() - began);
    one.end();
    if (answer !== '42') throw new Error('a wrong answer');
  }
  return samples;
}

let warm = null;
/** Round trips with the snapshot, in one guest that lives as long as the run. */
async function trip(peer, plugin, payload, count) {
  if (!warm) {
    warm = await peer.make(plugin);
    for (let i = 0; i < 300; i++) await warm.call(payload, 10000);
  }
  const samples = [];
  for (let i = 0; i < count; i++) {
    const began = now();
    await warm.call(payload, 10000);
    samples.push(now() - began);
  }
  return samples;
}

/** From the deadline of a call that hangs to the answer of the next, which a new guest gives. */
async function kill(peer, count) {
  const samples = [];
  for (let i = 0; i < count; i++) {
    let one = await peer.make(hangs);
    await one.call('1', 10000);
    const deadline = now() + BigInt(DEADLINE_MS) * 1000000n;
    let late = false;
    await one.call('"hang"', DEADLINE_MS).catch(() => { late = true; });
    if (!late) throw new Error('the call did not hang');
    one.end();
    one = await peer.make(hangs);
    await one.call('1', 10000);
    samples.push(now() - deadline);
    one.end();
  }
  return samples;
}

// ---- harm ----------------------------------------------------------------------------------------

// A native crash cannot be written in the language alone: where the plugin reaches its process, it
// ends that; elsewhere the deepest that it can do is to exhaust the stack inside a built-in.
const harms = {
  loop: '() => { while (true); }',
  builtin: '() => (new Array(5e7)).fill("x").join("y").replaceAll("x", "zz".repeat(20)).length',
  memory: '() => { const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1)); }',
  crash: '() => { const p = this.constructor.constructor("return process")(); p.abort(); }',
};

async function doHarm(peer, kind) {
  const source = `globalThis.transform = ${harms[kind]};`;
  let beats = 0, longest = 0, last = Date.now();
  setInterval(() => {
    longest = Math.max(longest, Date.now() - last);
    last = Date.now();
    beats++;
  }, 10);
  await new Promise(resolve => setTimeout(resolve, 100));
  const one = await peer.make(source);
  const outcome = await one.call('0', 500).then(() => 'went through', error => String(error.message).slice(0, 24));
  await new Promise(resolve => setTimeout(resolve, 50));
  longest = Math.max(longest, Date.now() - last);
  console.log(longest > 250 ? `blocked for ${longest} ms` : `alive (${outcome})`);
  process.exit(0);
}

/** In a host of its own, watched from here: the answer is what became of that host. */
function harm(name, kind, args) {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [self, name, ...args, 'harm', kind], { stdio: ['ignore', 'pipe', 'ignore'] });
    let said = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), 15000);
    child.stdout.on('data', text => { said += text; });
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      if (said) resolve(said.trim());
      else if (signal === 'SIGKILL') resolve('hangs for good');
      else resolve(`host dies (${signal ?? 'exit ' + code})`);
    });
  });
}

// ---- the line ------------------------------------------------------------------------------------

async function main() {
  const [name, pluginPath, payloadPath, mode, kind] = process.argv.slice(2);
  let peer;
  try {
    peer = await peers[name]();
  } catch (error) {
    console.log(`missing: ${String(error.message).split('\n')[0]}`);
    return;
  }
  if (mode === 'harm') return doHarm(peer, kind);
  const plugin = fs.readFileSync(pluginPath, 'utf8'), payload = fs.readFileSync(payloadPath, 'utf8');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [what, value] = line.split(' ');
    try {
      const samples = what === 'E1' ? await start(peer, +value)
        : what === 'E2' ? await trip(peer, plugin, payload, +value)
        : what === 'E4' ? await kill(peer, +value) : null;
      if (samples) console.log(samples.join(' '));
      else if (what === 'version') console.log(peer.version);
      else if (what === 'harm') console.log(await harm(name, value, [pluginPath, payloadPath]));
      else console.log('none');
    } catch (error) {
      console.log(`none: ${error.message}`);
    }
  }
  process.exit(0);
}

if (!isMainThread)
  serve(workerData.source, got => parentPort.on('message', got), message => parentPort.postMessage(message));
else if (process.argv[2] === '--child')
  serve(process.argv[3], got => process.on('message', got), message => process.send(message));
else
  await main();
