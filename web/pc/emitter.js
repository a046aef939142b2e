/**
 * emitter.js: events with types, and what the listeners returned.
 *
 * @module
 */

/** @template {object} Events */
export class Emitter {
  /** @type {Map<keyof Events, Set<(event: any) => unknown>>} */ #listeners = new Map();

  /**
   * Calls the listener for each such event, until the function that is returned is called.
   * @template {keyof Events} Name
   * @param {Name} name
   * @param {(event: Events[Name]) => unknown} listener
   * @returns {() => void}
   */
  on(name, listener) {
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(listener));
    return () => void set.delete(listener);
  }

  /**
   * @protected
   * @template {keyof Events} Name
   * @param {Name} name
   * @param {Events[Name]} event
   * @returns {unknown[]} what the listeners returned
   */
  emit(name, event) {
    return [...(this.#listeners.get(name) ?? [])].map((listener) => {
      try {
        return listener(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error; // the listener's own fault: reported as such, and the others still hear
        });
        return undefined;
      }
    });
  }
}
