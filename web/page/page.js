/**
 * page.js: the page itself: which view is shown, and what the buttons do to the PC. The PC runs in a
 * Worker; nothing here waits for it.
 *
 * The address may name a machine to boot at once (#686). For tests, ?deadline=MS shortens the
 * patience with a silent Worker, and ?hooks lets them make it silent.
 *
 * @module
 */
import {PC} from 'halter/pc';
import {Chooser} from './choose.js';
import {Console} from './console.js';
import {byId, megabytes} from './dom.js';
import {loadMachines} from './machines.js';
import {clearStats, showBootTime, showState, showStats} from './status.js';
import {keep} from './store.js';
import {clearTrouble, showNote, showTrouble} from './trouble.js';

/** @typedef {import('./choose.js').Choice} Choice */

const query = new URLSearchParams(location.search);
const PROMPT = /(login: |[#$] )$/; // of a guest that nobody has described
const WATCHED = 256; // characters of the console that the end of the boot is looked for in

/** @type {PC | null} */ let pc = null;
/** @type {Choice | null} */ let choice = null;

/** @type {Console | null} */ let terminal = null; // made when its place is first shown: it measures itself

/** Another turn of the event loop: what would be one long task is several. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

async function openTerminal() {
  if (!terminal) {
    await turn(); // the view is shown before
    terminal = new Console({
      type: (text) => pc?.send(text).catch(() => {}), // it has ended: exit has said so
      leave: () => byId('pause').focus(),
    });
    await turn();
  }
  terminal.fit();
  await turn();
  terminal.clear();
  terminal.forReaders = /** @type {HTMLInputElement} */ (byId('reader')).checked;
  return terminal;
}

const chooser = new Chooser((chosen) => void start(chosen));

/** @param {'choose' | 'machine'} view */
function show(view) {
  document.body.dataset.view = view;
  byId('choose').hidden = view !== 'choose';
  for (const id of ['machine', 'tools', 'status']) byId(id).hidden = view !== 'machine';
  byId('subject').textContent = view === 'machine' ? choice?.name ?? '' : 'A PC in this tab';
}

/** @param {unknown} error */
const message = (error) => (error instanceof Error ? error.message : String(error));

// ---- A PC's life ------------------------------------------------------------------------------

/** Watches the console for the end of the boot. @param {Choice} chosen */
function bootWatch({ready, options}) {
  const began = performance.now(), decoder = new TextDecoder();
  let seen = '', over = false;
  return (/** @type {Uint8Array | null} */ bytes) => {
    if (over) return;
    if (bytes) seen = (seen + decoder.decode(bytes, {stream: true})).slice(-WATCHED);
    over = options.resume ? !bytes : ready ? seen.includes(ready) : PROMPT.test(seen);
    if (over) showBootTime(performance.now() - began);
  };
}

/** @param {Choice} chosen */
async function start(chosen) {
  choice = chosen;
  clearTrouble();
  clearStats();
  byId('ended').hidden = true;
  enable(true);
  show('machine');
  showState('loading');
  const screen = await openTerminal();
  screen.focus();
  const watch = bootWatch(chosen);
  try {
    const mine = await PC.boot({
      ...chosen.options, restart: 'boot', deadlineMs: Number(query.get('deadline')) || undefined,
      testHooks: query.has('hooks'),
      on: {
        console: ({bytes, uart}) => {
          if (uart !== 0) return undefined;
          watch(bytes);
          return screen.write(bytes);
        },
        state: (state) => {
          showState(state);
          byId('pause').querySelector('span')?.replaceChildren(state === 'paused' ? 'Resume' : 'Pause');
        },
        stats: showStats,
        restart: ({reason, message: why}) => {
          screen.clear();
          clearStats();
          if (reason !== 'killed') showTrouble(`${why}. It was started again.`);
        },
        exit: ended,
      },
    });
    pc = mine;
    watch(null);
    Object.assign(globalThis, {pc, terminal: screen}); // for the curious, and for tests
  } catch (error) {
    showTrouble(`The PC does not start: ${message(error)}`);
  }
}

/** @param {import('halter/pc').Exit} exit */
function ended({reason, message: why}) {
  pc = null;
  enable(false);
  byId('ended-title').textContent = reason === 'off' ? 'Switched off' : reason === 'killed' ? 'Stopped' : 'It has ended';
  byId('ended-why').textContent = reason === 'killed' ? 'Its Worker is gone, and all that it held.' : `${why[0]?.toUpperCase() ?? ''}${why.slice(1)}.`;
  byId('ended').hidden = false;
  byId('again').focus();
}

/** @param {boolean} alive */
function enable(alive) {
  for (const id of ['pause', 'save', 'restart', 'kill', 'paste'])
    /** @type {HTMLButtonElement} */ (byId(id)).disabled = !alive;
}

// ---- The buttons ------------------------------------------------------------------------------

/** @param {string} id @param {(pc: PC) => unknown} act */
function onButton(id, act) {
  byId(id).addEventListener('click', async () => {
    try {
      if (pc) await act(pc);
    } catch (error) {
      showTrouble(`${byId(id).textContent}: ${message(error)}`);
    }
  });
}

onButton('pause', (it) => {
  if (it.state === 'paused') it.resume();
  else it.pause();
});
onButton('restart', async (it) => {
  terminal?.focus();
  await it.restart();
});
onButton('kill', (it) => it.kill());
onButton('save', async (it) => {
  const bytes = await it.save(), name = choice?.name ?? '';
  await keep({machine: choice?.machine ?? '', name, at: Date.now(),
    snapshot: new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)])});
  showNote(`Saved, ${megabytes(bytes.length)}. The first page resumes it, also after a reload.`);
  void chooser.showSaved();
});
onButton('paste', async () => {
  terminal?.paste(await navigator.clipboard.readText());
  terminal?.focus();
});
byId('copy').addEventListener('click', async () => {
  try {
    if (terminal) showNote(`Copied ${await terminal.copy()} characters.`);
  } catch (error) {
    showTrouble(`Copy: ${message(error)}`);
  }
});
byId('again').addEventListener('click', () => choice && void start(choice));
byId('other').addEventListener('click', () => {
  show('choose');
  void chooser.showSaved();
  /** @type {HTMLElement | null} */ (document.querySelector('#machine-list input:checked'))?.focus();
});
addEventListener('keydown', (event) => {
  if (event.key !== 'F6' || event.defaultPrevented || byId('machine').hidden) return;
  event.preventDefault();
  terminal?.focus();
});

// ---- The beginning ----------------------------------------------------------------------------

try {
  chooser.offer(await loadMachines());
} catch (error) {
  chooser.offer([]);
  showTrouble(message(error));
}
await chooser.showSaved();
if (location.hash && !chooser.chooseById(decodeURIComponent(location.hash.slice(1))))
  showTrouble(`There is no machine "${decodeURIComponent(location.hash.slice(1))}" here, or its files are missing.`);
document.documentElement.dataset.loaded = '';
