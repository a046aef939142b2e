/**
 * emulators.mjs: who takes part, and how each is started with its serial console on standard input
 * and output. All boot the same kernel with the same command line and the same RAM; each in the form
 * it is given in practice: halter the ELF that `halter image` made, the others the bzImage.
 */
import {spawn} from 'node:child_process';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

export const APPEND = 'console=ttyS0 cryptomgr.notests noisapnp panic=-1 mitigations=off';
export const RAM_MB = 128;
const here = path.dirname(fileURLToPath(import.meta.url));
const web = path.resolve(here, '../../web/bin/halter.mjs');

/** @typedef {{name: string, argv: string[]}} Emulator */

/** @param {string} build @param {string} guest @param {string} kernel @returns {Record<string, Emulator>} */
export function emulators(build, guest, kernel) {
  const initrd = `${guest}/initramfs-bench.cpio.gz`, elf = `${guest}/vmlinux-${kernel}`, bzImage = `${guest}/bzImage-${kernel}`;
  const boot = [elf, '--initrd', initrd, '--append', APPEND, '--ram', String(RAM_MB)];
  return {
    native: {name: 'halter, native', argv: [`${build}/halter`, 'boot', ...boot]},
    wasm: {name: 'halter, wasm in Node', argv: [process.execPath, web, 'boot', '--wasm', `${build}/web/package/pc.wasm`, ...boot]},
    v86: {name: 'v86 in Node', argv: [process.execPath, path.join(here, 'v86.mjs'), bzImage, initrd, APPEND, String(RAM_MB)]},
    qemu: {name: 'QEMU TCG', argv: ['qemu-system-i386', '-accel', 'tcg', '-display', 'none', '-nodefaults', '-serial', 'stdio',
      '-m', String(RAM_MB), '-kernel', bzImage, '-initrd', initrd, '-append', APPEND, '-no-reboot']},
  };
}

/** A running guest: what it wrote, and when a text first stood there. */
export class Guest {
  /** @param {Emulator} emulator */
  constructor(emulator) {
    this.name = emulator.name;
    this.text = '';
    this.began = performance.now();
    this.process = spawn(emulator.argv[0], emulator.argv.slice(1), {stdio: ['pipe', 'pipe', 'pipe']});
    /** @type {(() => void) | null} */
    this.changed = null;
    this.ended = false;
    this.errors = '';
    this.process.stdout?.on('data', (data) => {
      this.text += data.toString('latin1');
      this.changed?.();
    });
    this.process.stderr?.on('data', (data) => (this.errors += data));
    this.process.on('close', () => {
      this.ended = true;
      this.changed?.();
    });
    this.process.stdin?.on('error', () => {});
  }

  /**
   * Waits until the text is there; forgets what came before its end.
   * @param {string} wanted @param {number} seconds @returns {Promise<{ms: number, before: string}>} since the start
   */
  async until(wanted, seconds) {
    const limit = performance.now() + seconds * 1000;
    for (;;) {
      const at = this.text.indexOf(wanted);
      if (at >= 0) {
        const before = this.text.slice(0, at);
        this.text = this.text.slice(at + wanted.length);
        return {ms: performance.now() - this.began, before};
      }
      const left = limit - performance.now();
      if (this.ended || left <= 0)
        throw new Error(`${this.name}: ${this.ended ? 'ended' : `${seconds} s passed`} before "${wanted}"; it had written:\n${this.text.slice(-500)}${this.errors.slice(-500)}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left);
        this.changed = () => { clearTimeout(timer); resolve(undefined); };
      });
    }
  }

  /** @param {string} text */
  send(text) {
    this.process.stdin?.write(text);
  }

  async end() {
    if (this.ended) return;
    const closed = new Promise((resolve) => this.process.on('close', resolve));
    this.process.kill('SIGKILL');
    await closed;
  }
}
