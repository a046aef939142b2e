// What a user would build instead of halter: a forked child, one message a record, one message back.
// It is the fair version: results in order, a bounded number of records in flight, output that is
// gathered before it is written and waits for its reader. It has no deadline and no confinement.
//
//   fork.mjs objects|strings PLUGIN FILE
import { fork } from 'node:child_process';
import fs from 'node:fs';
import readline from 'node:readline';
import { once } from 'node:events';

const [form, plugin, file] = process.argv.slice(2);

if (process.send) {
  (0, eval)(fs.readFileSync(plugin, 'utf8'));
  process.on('message', form === 'objects'
    ? record => process.send(globalThis.transform(record))
    : line => process.send(JSON.stringify(globalThis.transform(JSON.parse(line)))));
  process.on('disconnect', () => process.exit());
} else {
  const most = 256;
  const child = fork(new URL(import.meta.url).pathname, [form, plugin, file]);
  let flying = 0, wake = null, gathered = [], size = 0;
  child.on('message', result => {
    const line = (form === 'objects' ? JSON.stringify(result) : result) + '\n';
    gathered.push(line);
    size += line.length;
    flying--;
    if (wake && flying < most / 2) wake();
  });
  const flush = async () => {
    const text = gathered.join('');
    gathered = [];
    size = 0;
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  };
  for await (const line of readline.createInterface({ input: fs.createReadStream(file, { highWaterMark: 1 << 18 }) })) {
    child.send(form === 'objects' ? JSON.parse(line) : line);
    if (++flying >= most) await new Promise(resolve => { wake = resolve; });
    wake = null;
    if (size > 1 << 18) await flush();
  }
  while (flying > 0) await new Promise(resolve => setTimeout(resolve, 1));
  await flush();
  child.disconnect();
}
