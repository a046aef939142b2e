/**
 * machines.js: the machines that the page offers, from machines.json, and whether their files are
 * there.
 *
 * @module
 */

/**
 * @typedef {object} Machine
 * @property {string} id
 * @property {string} name
 * @property {string} about
 * @property {string} kernel
 * @property {string} [initrd]
 * @property {string} [append]
 * @property {number} ramMb
 * @property {string} [ready] what the console says when it has booted
 * @property {string} [missing] the file that is not there; set here
 */

const LIST = 'machines.json';

/** @param {any} machine @returns {machine is Machine} */
function isMachine(machine) {
  const texts = [machine?.id, machine?.name, machine?.about, machine?.kernel];
  return texts.every((text) => typeof text === 'string' && text) && Number.isInteger(machine.ramMb);
}

/** @param {string} url */
async function isThere(url) {
  try {
    return (await fetch(url, {method: 'HEAD'})).ok;
  } catch {
    return false;
  }
}

/** @returns {Promise<Machine[]>} */
export async function loadMachines() {
  const response = await fetch(LIST);
  if (!response.ok) throw new Error(`${LIST} cannot be read: the server answers ${response.status}`);
  let machines;
  try {
    machines = await response.json();
  } catch (error) {
    throw new Error(`${LIST} is no JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (!Array.isArray(machines)) throw new Error(`${LIST} is no list of machines`);
  const wrong = machines.findIndex((machine) => !isMachine(machine));
  if (wrong >= 0) throw new Error(`${LIST}: machine ${wrong + 1} needs id, name, about, kernel (texts) and ramMb (a number)`);
  await Promise.all(machines.map(async (machine) => {
    const files = [machine.kernel, ...(machine.initrd ? [machine.initrd] : [])];
    const there = await Promise.all(files.map(isThere));
    const gap = there.indexOf(false);
    if (gap >= 0) machine.missing = files[gap];
  }));
  return machines;
}
