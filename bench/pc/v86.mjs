/**
 * v86.mjs KERNEL INITRD APPEND RAM_MB: v86 in Node with its first serial port on standard input and
 * output, so that it is driven like the others. Its BIOS is Debian's SeaBIOS.
 */
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

// Installed for the measurements in browsers, beside this folder.
const require = createRequire(new URL('../web/package.json', import.meta.url));
const folder = path.dirname(require.resolve('v86'));
const {V86} = await import(pathToFileURL(path.join(folder, 'libv86.mjs')).href);

const [kernel, initrd, append, ramMb] = process.argv.slice(2);
/** @param {string} file */
const bytes = (file) => {
  const whole = readFileSync(file);
  return {buffer: whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength)};
};
const machine = new V86({
  wasm_path: path.join(folder, 'v86.wasm'),
  bios: bytes('/usr/share/seabios/bios.bin'), vga_bios: bytes('/usr/share/seabios/vgabios-stdvga.bin'),
  bzimage: bytes(kernel), initrd: bytes(initrd), cmdline: append,
  memory_size: Number(ramMb) << 20, vga_memory_size: 2 << 20,
  autostart: true, disable_keyboard: true, disable_mouse: true,
});
/** @type {number[]} */
let line = [];
machine.add_listener('serial0-output-byte', (/** @type {number} */ byte) => {
  line.push(byte);
  if (byte === 10 || byte === 32) {
    process.stdout.write(Uint8Array.from(line));
    line = [];
  }
});
process.stdin.on('data', (/** @type {Buffer} */ data) => machine.serial0_send(data.toString('latin1')));
process.stdin.on('end', () => process.exit(0));
