/**
 * console.js: the terminal in the page: xterm.js with the page's colours, fitted to its place, with
 * copy and paste, and with a way out for those who have only a keyboard.
 *
 * @module
 */
import {FitAddon} from '@xterm/addon-fit';
import {Terminal} from '@xterm/xterm';
import {byId} from './dom.js';

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** The page's colours as xterm.js wants them. */
function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  /** @type {Record<string, string>} */
  const colours = {
    background: colour('screen'), foreground: colour('screen-ink'), cursor: colour('accent'),
    cursorAccent: colour('screen'), selectionBackground: colour('selection'),
  };
  NAMES.forEach((name, i) => {
    colours[name] = colour(`c${i}`);
    colours[`bright${name[0].toUpperCase()}${name.slice(1)}`] = colour(`c${i + 8}`);
  });
  return colours;
}

export class Console {
  #terminal;
  #fit = new FitAddon();
  #type;
  #control = false;

  /**
   * @param {object} options
   * @param {(text: string) => void} options.type what the user typed or pasted
   * @param {() => void} options.leave the user wants the keyboard elsewhere
   */
  constructor({type, leave}) {
    this.#type = type;
    this.#terminal = new Terminal({
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
      fontSize: matchMedia('(max-width: 700px)').matches ? 12 : 14,
      lineHeight: 1.15, scrollback: 5000, cursorBlink: false, theme: theme(), minimumContrastRatio: 4.5,
      macOptionIsMeta: true,
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.open(byId('console'));
    this.#terminal.onData((text) => this.#typed(text));
    this.#terminal.attachCustomKeyEventHandler((event) => this.#isGuests(event, leave));
    new ResizeObserver(() => this.fit()).observe(byId('console'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#terminal.options.theme = theme();
    });
    this.#addKeys();
  }

  /** False for the few keys that are the page's. @param {KeyboardEvent} event @param {() => void} leave */
  #isGuests(event, leave) {
    const copies = event.ctrlKey && ((event.shiftKey && event.code === 'KeyC') || event.code === 'Insert');
    const pastes = event.ctrlKey && event.shiftKey && event.code === 'KeyV'; // the browser does it
    if (event.key !== 'F6' && !copies) return !pastes;
    event.preventDefault();
    if (event.type !== 'keydown') return false;
    if (copies) void this.copy();
    else leave();
    return false;
  }

  /** Keys that a phone lacks; Ctrl holds for the next one. */
  #addKeys() {
    const control = byId('ctrl');
    const press = (/** @type {boolean} */ on) => {
      this.#control = on;
      control.ariaPressed = String(on);
    };
    control.addEventListener('click', () => {
      press(!this.#control);
      this.focus();
    });
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-key]')))
      button.addEventListener('click', () => {
        this.#type(button.dataset.key ?? '');
        this.focus();
      });
    for (const button of document.querySelectorAll('#keys button')) // the screen's keyboard stays
      button.addEventListener('pointerdown', (event) => event.preventDefault());
    this.#released = () => press(false);
  }

  #released = () => {};

  /** @param {string} text */
  #typed(text) {
    if (this.#control && text.length === 1) {
      this.#released();
      text = String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f);
    }
    this.#type(text);
  }

  /** Kept when the bytes are on the screen. @param {Uint8Array} bytes @returns {Promise<void>} */
  write(bytes) {
    return new Promise((resolve) => this.#terminal.write(bytes, resolve));
  }

  clear() {
    this.#terminal.reset();
  }

  focus() {
    this.#terminal.focus();
  }

  fit() {
    if (byId('machine').hidden) return;
    this.#fit.fit();
  }

  /** @param {boolean} on */
  set forReaders(on) {
    this.#terminal.options.screenReaderMode = on;
  }

  /** All that is in the terminal, as text. */
  get text() {
    const {active} = this.#terminal.buffer;
    let text = '';
    for (let i = 0; i < active.length; i++) {
      const line = active.getLine(i);
      if (line) text += (i && !line.isWrapped ? '\n' : '') + line.translateToString(true);
    }
    return text.trimEnd();
  }

  /** The selection, or everything when there is none; resolves to how many characters. */
  async copy() {
    const text = this.#terminal.getSelection() || this.text;
    await navigator.clipboard.writeText(text);
    return text.length;
  }

  /** As if typed. @param {string} text */
  paste(text) {
    this.#terminal.paste(text);
  }
}
