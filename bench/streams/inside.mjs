// The same transform in node's own process: nothing between, and nothing that could stop it.
//
//   inside.mjs PLUGIN FILE
import fs from 'node:fs';
import readline from 'node:readline';
import { once } from 'node:events';

const [plugin, file] = process.argv.slice(2);
(0, eval)(fs.readFileSync(plugin, 'utf8'));
let gathered = [], size = 0;
for await (const line of readline.createInterface({ input: fs.createReadStream(file, { highWaterMark: 1 << 18 }) })) {
  const result = JSON.stringify(globalThis.transform(JSON.parse(line))) + '\n';
  gathered.push(result);
  size += result.length;
  if (size < 1 << 18) continue;
  if (!process.stdout.write(gathered.join(''))) await once(process.stdout, 'drain');
  gathered = [];
  size = 0;
}
process.stdout.write(gathered.join(''));
