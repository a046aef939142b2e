/**
 * choose.js: the first view: which machine, with how much memory, or a saved one.
 *
 * @module
 */
import {byId, make, megabytes} from './dom.js';
import {allSaved, forget} from './store.js';
import {showTrouble} from './trouble.js';

/**
 * @typedef {import('./machines.js').Machine} Machine
 * @typedef {import('./store.js').Saved} Saved
 */

/**
 * What was chosen, as PC.boot() takes it, and what the page says about it.
 * @typedef {object} Choice
 * @property {string} machine
 * @property {string} name
 * @property {import('halter/pc').BootOptions} options
 * @property {string} [ready]
 */

const OWN = 'own';
const RESUMED = 'Resumed';

/** @param {string} value @param {string} title @param {string} about @param {Machine} [machine] */
function card(value, title, about, machine) {
  const missing = machine?.missing;
  const radio = make('input', {type: 'radio', name: 'machine', value, required: true, disabled: !!missing});
  const text = make('small', {className: missing ? 'missing' : ''},
      missing ? `${missing} is not here: make guest builds it.` : about);
  return make('label', {className: 'card'}, radio, make('b', {}, title), text);
}

/** @param {string} id */
const file = (id) => /** @type {HTMLInputElement} */ (byId(id)).files?.[0];

export class Chooser {
  /** @type {Machine[]} */ #machines = [];
  #chosen;

  /** @param {(choice: Choice) => void} chosen */
  constructor(chosen) {
    this.#chosen = chosen;
    byId('machines').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    byId('machines').addEventListener('change', () => this.#changed());
  }

  /** @param {Machine[]} machines */
  offer(machines) {
    this.#machines = machines;
    byId('machine-list').replaceChildren(
        ...machines.map((machine) => card(machine.id, machine.name, machine.about, machine)),
        card(OWN, 'Your own files', 'A kernel and a RAM disk, or a saved state, from this computer.'));
    const first = /** @type {HTMLInputElement | null} */ (document.querySelector('#machine-list input:enabled'));
    if (first) first.checked = true;
    this.#changed('ram');
  }

  /** @param {string} id the machine of that name, as in the address `#686`; false without one */
  chooseById(id) {
    const machine = this.#machines.find((one) => one.id === id && !one.missing);
    if (machine) this.#chosen(this.#fromList(machine, machine.ramMb));
    return !!machine;
  }

  get #picked() {
    return new FormData(/** @type {HTMLFormElement} */ (byId('machines'))).get('machine');
  }

  /** @param {string} [what] */
  #changed(what) {
    const picked = this.#picked;
    const isOther = byId('machines').dataset.picked !== picked;
    byId('machines').dataset.picked = String(picked);
    byId('own').hidden = picked !== OWN;
    const machine = this.#machines.find((one) => one.id === picked);
    if (machine && (what === 'ram' || isOther)) /** @type {HTMLInputElement} */ (byId('ram')).value = String(machine.ramMb);
  }

  /** @param {Machine} machine @param {number} ramMb @returns {Choice} */
  #fromList({id, name, kernel, initrd, append, ready}, ramMb) {
    return {machine: id, name, ready, options: {kernel, initrd, append, ramMb}};
  }

  #submit() {
    const ramMb = Number(/** @type {HTMLInputElement} */ (byId('ram')).value);
    const machine = this.#machines.find((one) => one.id === this.#picked);
    if (machine) {
      this.#chosen(this.#fromList(machine, ramMb));
      return;
    }
    const kernel = file('own-kernel'), initrd = file('own-initrd'), resume = file('own-resume');
    const append = /** @type {HTMLInputElement} */ (byId('own-append')).value.trim();
    if (!kernel && !resume) {
      showTrouble('Choose a kernel, or a saved state, among your files.');
      byId('own-kernel').focus();
      return;
    }
    this.#chosen({
      machine: '', name: (kernel ?? resume)?.name ?? '', ready: resume ? RESUMED : undefined,
      // A snapshot knows its own memory.
      options: {kernel, initrd, resume, ...(append && {append}), ...(!resume && {ramMb})},
    });
  }

  /** Shows what is saved. */
  async showSaved() {
    /** @type {Saved[]} */ let saved = [];
    try {
      saved = await allSaved();
    } catch { /* a private window may keep nothing: then there is nothing to show */ }
    byId('saved').hidden = !saved.length;
    byId('saved-list').replaceChildren(...saved.map((one) => this.#savedLine(one)));
  }

  /** @param {Saved} saved */
  #savedLine(saved) {
    const when = new Date(saved.at).toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'});
    const title = `${saved.name}, ${when}`;
    return make('li', {},
        make('span', {}, saved.name, make('small', {}, `${when} · ${megabytes(saved.snapshot.size)}`)),
        make('button', {type: 'button', ariaLabel: `Resume ${title}`, onclick: () => this.#resume(saved)}, 'Resume'),
        make('button', {type: 'button', ariaLabel: `Download ${title}`, onclick: () => download(saved)}, 'Download'),
        make('button', {type: 'button', ariaLabel: `Delete ${title}`, onclick: async () => {
          await forget(/** @type {number} */ (saved.id));
          await this.showSaved();
          byId('boot').focus();
        }}, 'Delete'));
  }

  /** @param {Saved} saved */
  #resume(saved) {
    const machine = this.#machines.find((one) => one.id === saved.machine && !one.missing);
    this.#chosen({
      machine: saved.machine, name: saved.name, ready: RESUMED,
      // With its kernel, the guest can also reboot.
      options: {resume: saved.snapshot, kernel: machine?.kernel, initrd: machine?.initrd, append: machine?.append},
    });
  }
}

/** @param {Saved} saved */
function download(saved) {
  const link = make('a', {href: URL.createObjectURL(saved.snapshot), download: `${saved.name.replace(/[^\w.-]+/g, '-')}.halter`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
