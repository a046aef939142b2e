// The package's own sources hold under TypeScript's strict check, as they are.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import test from 'node:test';
import {fileURLToPath} from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));

test('tsc --checkJs --strict finds nothing', () => {
  const {stdout, status} = spawnSync(process.execPath, [`${web}node_modules/typescript/bin/tsc`, '-p', web], {encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});
