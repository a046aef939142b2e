/**
 * yield.js: the ways to give an event loop its turn and come back, one function a strategy.
 *
 * Each takes what is to run and returns a function that asks for it to run once, after whatever the
 * event loop has waiting. Asking again before it ran changes nothing.
 *
 * @module
 */

/**
 * @typedef {'channel' | 'post-task' | 'immediate' | 'timeout'} Strategy
 * @typedef {{ask: () => void, close: () => void}} Yielder
 */

/** @typedef {(task: () => void, options: {priority: string, signal: AbortSignal}) => Promise<unknown>} PostTask */

const scope = /** @type {{scheduler?: {postTask?: PostTask}, setImmediate?: (task: () => void) => unknown,
    clearImmediate?: (handle: any) => void}} */ (globalThis);

/** A message to oneself is a task like any other in a browser: keys and timers get in between.
 * @type {(run: () => void) => Yielder} */
function channel(run) {
  const {port1, port2} = new MessageChannel();
  let asked = false;
  port1.onmessage = () => {
    asked = false;
    run();
  };
  return {
    ask: () => {
      if (!asked) port2.postMessage(0);
      asked = true;
    },
    close: () => {
      port1.onmessage = null;
      port1.close();
    },
  };
}

/** Background priority, the only one that is fair: the others let nothing else in.
 * @type {(run: () => void) => Yielder} */
function postTask(run) {
  const abort = new AbortController();
  let asked = false;
  const task = () => {
    asked = false;
    run();
  };
  return {
    ask: () => {
      if (asked) return;
      asked = true;
      scope.scheduler?.postTask?.(task, {priority: 'background', signal: abort.signal})
          .catch(() => {}); // aborted by close()
    },
    close: () => abort.abort(),
  };
}

/** @type {(run: () => void) => Yielder} */
function immediate(run) {
  /** @type {unknown} */
  let handle = null;
  const task = () => {
    handle = null;
    run();
  };
  return {
    ask: () => {
      handle ??= scope.setImmediate?.(task);
    },
    close: () => {
      scope.clearImmediate?.(handle);
      handle = null;
    },
  };
}

/** The textbook's way, to be measured against: browsers make 4 ms of it.
 * @type {(run: () => void) => Yielder} */
function timeout(run) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let handle;
  const task = () => {
    handle = undefined;
    run();
  };
  return {
    ask: () => {
      handle ??= setTimeout(task, 0);
    },
    close: () => {
      clearTimeout(handle);
      handle = undefined;
    },
  };
}

/** What is here, best first. @type {() => Strategy[]} */
export function strategies() {
  /** @type {Strategy[]} */
  const here = [];
  if (typeof scope.setImmediate === 'function') here.push('immediate');
  if (typeof MessageChannel === 'function') here.push('channel');
  if (typeof scope.scheduler?.postTask === 'function') here.push('post-task');
  return [...here, 'timeout'];
}

const MAKERS = Object.freeze({channel, 'post-task': postTask, immediate, timeout});

/**
 * @param {Strategy} strategy
 * @param {() => void} run
 * @returns {Yielder}
 */
export function makeYielder(strategy, run) {
  if (!Object.hasOwn(MAKERS, strategy))
    throw new RangeError(`there is no strategy "${strategy}"; there are: ${Object.keys(MAKERS).join(', ')}`);
  const here = strategies();
  if (!here.includes(strategy))
    throw new Error(`the strategy "${strategy}" is not to be had here; these are: ${here.join(', ')}`);
  return MAKERS[strategy](run);
}
