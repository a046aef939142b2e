// The command line of halter.mjs boot: what is right is taken, what is wrong is told.
import assert from 'node:assert/strict';
import test from 'node:test';
import {parse} from '../../web/cli/options.js';

test('a kernel is all that is needed', () => {
  const {pc, timeoutMs, stats} = parse(['vmlinux']);
  assert.deepEqual(pc, {kernel: 'vmlinux', script: []});
  assert.deepEqual([timeoutMs, stats], [0, false]);
});

test('everything that halter boot has', () => {
  const {pc, ...rest} = parse(['-i', 'initrd', '-a', 'quiet', '-m', '64', '--cpu', 'p6', '-t', '1.5', '--icount', '--rtc', '7',
    '--no-reboot', '--save', 'out', '--resume', 'in', '--stats', '--hash', '-v', 'vmlinux']);
  assert.deepEqual(pc, {kernel: 'vmlinux', initrd: 'initrd', resume: 'in', append: 'quiet', ramMb: 64, cpu: 'p6', rtcSeconds: 7,
    icountNs: 5, noReboot: true, script: []});
  assert.deepEqual(rest, {wasm: undefined, save: 'out', timeoutMs: 1500, stats: true, hash: true, verbose: true, help: false});
  assert.equal(parse(['--icount=2.5', 'vmlinux']).pc.icountNs, 2.5);
});

test('a script is texts to wait for and to type', () => {
  assert.deepEqual(parse(['--send', 'a', '-u', '# ', '-s', 'ls\\n\\x1b', '-u', 'tmp', 'vmlinux']).pc.script,
      [{until: '', send: 'a'}, {until: '# ', send: 'ls\n\x1b'}, {until: 'tmp', send: null}]);
});

for (const [name, args, told] of /** @type {[string, string[], RegExp][]} */ ([
  ['no kernel', [], /one kernel is needed/],
  ['two kernels', ['a', 'b'], /one kernel is needed/],
  ['an option that is not known', ['--frob', 'a'], /frob/],
  ['RAM that is no number', ['-m', 'much', 'a'], /--ram wants a number from 2 to 3072, not "much"/],
  ['RAM that is too much', ['-m', '4096', 'a'], /from 2 to 3072/],
  ['an empty number', ['--icount=', 'a'], /--icount wants a number/],
  ['a processor that is not known', ['--cpu', '8086', 'a'], /--cpu is one of p6, pentium3, pentium-m, not "8086"/],
  ['an escape that is none', ['-s', '\\q', 'a'], /\\q is not an escape/],
])) {
  test(`${name} is told`, () => assert.throws(() => parse(args), (/** @type {Error} */ error) =>
    error.constructor.name === 'UsageError' && told.test(error.message)));
}
