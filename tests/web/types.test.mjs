// The package's own sources hold under TypeScript's strict check, as they are.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import test from 'node:test';
import {fileURLToPath} from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));

test('tsc --checkJs --strict finds nothing', () => {
  const {stdout, status} = spawnSync(process.execPath, [`${web}node_modules/typescript/bin/tsc`, '-p', web], {encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});

test('nor in the page', () => {
  const folder = mkdtempSync(`${tmpdir()}/halter-types-`);
  try {
    // The terminal's types are where the page was built.
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({
      extends: `${web}page/tsconfig.json`,
      compilerOptions: {
        typeRoots: [`${web}node_modules/@types`],
        paths: {'halter/pc': [`${web}pc.js`], '@xterm/*': [`${process.env.HALTER_PAGE_MODULES}/@xterm/*`]},
      },
      include: [`${web}page/*.js`],
    }));
    const {stdout, status} = spawnSync(process.execPath, [`${web}node_modules/typescript/bin/tsc`, '-p', folder], {encoding: 'utf8'});
    assert.equal(stdout, '');
    assert.equal(status, 0);
  } finally {
    rmSync(folder, {recursive: true});
  }
});
