/**
 * machine.js: a PC in a wasm instance, as a JavaScript object. It knows neither Node nor a browser:
 * whoever runs it brings pc.wasm, a clock, and something to do with the console.
 *
 *     const machine = await Machine.create(wasm, {ramMb: 128, onConsole: (byte) => …});
 *     machine.boot(kernel, initrd, 'console=ttyS0 …');
 *     machine.begin(now());
 *     for (;;) { const {stop, napMs} = machine.slice(now); … }
 *
 * @module
 */

/** Why a slice came back; the numbers of enum pc_stop in src/pc/pc.h. */
export const Stop = Object.freeze({BUDGET: 0, IDLE: 1, OFF: 2, RESET: 3, SHUTDOWN: 4, PAUSED: 5});

const MODELS = Object.freeze({'p6': 0, 'pentium3': 1, 'pentium-m': 2});
const NEVER = 0xffffffffffffffffn;

/**
 * @typedef {object} Options
 * @property {number} [ramMb] memory of the machine (128)
 * @property {'p6'|'pentium3'|'pentium-m'} [cpu]
 * @property {number} [rtcSeconds] the date at power-on, since 1970 (0)
 * @property {number} [icountNs] deterministic time, in ns an instruction; 0: real time
 * @property {(byte: number, uart: number) => void} [onConsole] called inside a slice
 * @property {() => void} [onScreen] the text screen changed; once until screen() is called
 * @property {(text: string, level: number) => void} [onLog]
 */

const MAGIC = 'halterPC'; // src/pc/snapshot.c: then u32 format, u32 model, u64 bytes of RAM
const MB = 1048576;
const LEAST_RAM_MB = 2, MOST_RAM_MB = 3072; // src/pc/pc.c

/**
 * The RAM and the processor that a snapshot is of.
 * @param {Uint8Array} bytes
 */
export function describeSnapshot(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 24 || String.fromCharCode(...bytes.subarray(0, 8)) !== MAGIC)
    throw new Error('this is no snapshot of a PC');
  const model = view.getUint32(12, true), ramMb = Number(view.getBigUint64(16, true)) / MB;
  const cpu = Object.keys(MODELS).find((name) => MODELS[/** @type {keyof typeof MODELS} */ (name)] === model);
  if (!cpu) throw new Error('the snapshot is of a processor that is not known here');
  return {ramMb, cpu};
}

/** @param {bigint} ns */
const toMs = (ns) => (ns === NEVER ? Infinity : Number(ns) / 1e6);

/** @param {number} ms */
const toNs = (ms) => BigInt(Math.round(ms * 1e6));

export class Machine {
  /** @type {any} */ #wasm;
  /** @type {Options} */ #options;
  /** @type {Uint8Array[]} */ #saved = [];
  /** @type {{bytes: Uint8Array, at: number}} */ #loading = {bytes: new Uint8Array(0), at: 0};
  #scratch = 0;
  #commandLine = 0;
  #image = /** @type {number[]} */ ([]);

  /**
   * @param {BufferSource | WebAssembly.Module} wasm
   * @param {Options} [options]
   */
  static async create(wasm, options = {}) {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const machine = new Machine(options);
    const instance = await WebAssembly.instantiate(module, {halter: machine.#imports()});
    machine.#wasm = instance.exports;
    machine.#powerOn();
    return machine;
  }

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  #imports() {
    return {
      /** @type {(uart: number, byte: number) => void} */
      console_out: (uart, byte) => this.#options.onConsole?.(byte, uart),
      screen_changed: () => this.#options.onScreen?.(),
      /** @type {(level: number, text: number) => void} */
      log_line: (level, text) => this.#options.onLog?.(this.#string(text), level),
      /** @type {(at: number, count: number) => number} */
      write_bytes: (at, count) => {
        this.#saved.push(this.#bytes(at, count).slice());
        return 1;
      },
      /** @type {(at: number, count: number) => number} */
      read_bytes: (at, count) => {
        const {bytes, at: from} = this.#loading;
        if (count > bytes.length - from) return 0;
        this.#bytes(at, count).set(bytes.subarray(from, from + count));
        this.#loading.at += count;
        return 1;
      },
    };
  }

  /** @param {number} at @param {number} count */
  #bytes(at, count) {
    return new Uint8Array(this.#wasm.memory.buffer, at >>> 0, count >>> 0);
  }

  /** @param {number} at */
  #string(at) {
    const memory = new Uint8Array(this.#wasm.memory.buffer);
    return new TextDecoder().decode(memory.subarray(at >>> 0, memory.indexOf(0, at >>> 0)));
  }

  /** @param {number} bytes */
  #alloc(bytes) {
    const at = this.#wasm.web_alloc(bytes) >>> 0;
    if (!at) throw new Error('there is no memory for the machine');
    return at;
  }

  /** @param {Uint8Array} bytes */
  #place(bytes) {
    const at = this.#alloc(bytes.length);
    this.#bytes(at, bytes.length).set(bytes);
    return at;
  }

  #powerOn() {
    const {ramMb = 128, cpu = 'pentium-m', rtcSeconds = 0} = this.#options;
    if (!(cpu in MODELS)) throw new Error(`there is no processor "${cpu}"`);
    if (!(ramMb >= LEAST_RAM_MB && ramMb <= MOST_RAM_MB))
      throw new Error(`a PC has ${LEAST_RAM_MB} to ${MOST_RAM_MB} MB of RAM, not ${ramMb}`);
    if (!this.#wasm.web_create(ramMb * MB, MODELS[cpu], BigInt(Math.floor(rtcSeconds)), 0))
      throw new Error(`there is no memory for a PC with ${ramMb} MB of RAM here`);
    this.#scratch = this.#alloc(4096);
    this.#commandLine = this.#alloc(4096);
  }

  /**
   * Loads a kernel. What is passed is kept inside, for reboot().
   * @param {Uint8Array} kernel a bzImage, or better the ELF from `halter image`
   * @param {Uint8Array | null} initrd
   * @param {string} commandLine
   */
  boot(kernel, initrd, commandLine) {
    const line = new TextEncoder().encode(commandLine);
    if (line.length > 4095) throw new Error("the kernel's command line is too long");
    this.#bytes(this.#commandLine, 4096).fill(0).set(line);
    this.#image = [
      this.#place(kernel), kernel.length,
      initrd ? this.#place(initrd) : 0, initrd ? initrd.length : 0,
    ];
    this.#enter();
  }

  #enter() {
    const wrong = this.#wasm.web_boot(...this.#image, this.#commandLine);
    if (wrong) throw new Error(this.#string(wrong));
  }

  /** After Stop.RESET: the same kernel again. */
  reboot() {
    this.#wasm.web_reset();
    this.#enter();
  }

  /** Begins the run at the host's moment. @param {number} nowMs */
  begin(nowMs) {
    const {icountNs = 0} = this.#options;
    this.#wasm.web_begin(Math.round(icountNs * 65536), toNs(nowMs));
  }

  /**
   * Runs a slice.
   * @param {() => number} now the host's clock, in ms
   * @param {number} [sliceMs] how long it may take
   * @returns {{stop: number, napMs: number}} napMs: how long the machine has nothing to do;
   *   Infinity until something comes in
   */
  slice(now, sliceMs = 8) {
    const began = now();
    const stop = this.#wasm.web_slice(toNs(began), toNs(sliceMs));
    const ended = now();
    return {stop, napMs: toMs(BigInt.asUintN(64,
        this.#wasm.web_nap_ns(stop, toNs(ended - began), toNs(ended))))};
  }

  /** From onConsole: the slice comes back with Stop.PAUSED after this instruction. */
  pause() {
    this.#wasm.web_pause();
  }

  /** Bytes to a serial port; returns how many found room. @param {Uint8Array} bytes */
  consoleIn(bytes, uart = 0) {
    let sent = 0;
    while (sent < bytes.length) {
      const part = bytes.subarray(sent, sent + 4096);
      this.#bytes(this.#scratch, part.length).set(part);
      const taken = this.#wasm.web_console_in(uart, this.#scratch, part.length);
      sent += taken;
      if (taken < part.length) break;
    }
    return sent;
  }

  /** A key, as codes of set 2; false when the keyboard's buffer is full. @param {Uint8Array} codes */
  keyIn(codes) {
    this.#bytes(this.#scratch, codes.length).set(codes);
    return this.#wasm.web_key_in(this.#scratch, codes.length) !== 0;
  }

  /** The text screen: 2000 cells and the cursor's, or null when no text is on. */
  screen() {
    const cursor = this.#wasm.web_screen(this.#scratch);
    if (cursor === -2) return null;
    return {cells: new Uint16Array(this.#wasm.memory.buffer, this.#scratch, 2000).slice(), cursor};
  }

  get insns() {
    return BigInt.asUintN(64, this.#wasm.web_insns());
  }

  get nowNs() {
    return BigInt.asUintN(64, this.#wasm.web_now_ns());
  }

  /** A hash of all that the guest could see, as 16 hex digits. */
  get hash() {
    return BigInt.asUintN(64, this.#wasm.web_hash()).toString(16).padStart(16, '0');
  }

  get guestMs() {
    return Number(this.nowNs) / 1e6;
  }

  /** Whether reboot() has a kernel. */
  get canReboot() {
    return this.#image.length > 0;
  }

  /** A snapshot. */
  save() {
    this.#saved = [];
    const good = this.#wasm.web_save();
    const pieces = this.#saved;
    this.#saved = [];
    if (!good) throw new Error('the snapshot could not be written');
    const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  /** Goes on from a snapshot of a machine of the same RAM and processor. @param {Uint8Array} bytes */
  load(bytes) {
    this.#loading = {bytes, at: 0};
    const wrong = this.#wasm.web_load();
    this.#loading = {bytes: new Uint8Array(0), at: 0};
    if (wrong) throw new Error(this.#string(wrong));
  }

  /** Tells onLog the machine's state, for people. */
  report() {
    this.#wasm.web_report();
  }
}
