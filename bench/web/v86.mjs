/** v86.mjs: the figures that v86 has too, each measured from outside as it is used. @module */
import {withPage} from './browsers.mjs';

/**
 * @param {'chromium' | 'firefox'} engine
 * @param {string} url
 * @param {(pid: number, seconds: number) => Promise<number>} load
 */
export function measureV86(engine, url, load) {
  return withPage(engine, `${url}/bench/v86.html`, async (page, pid) => {
    await page.waitForFunction('window.bootMs', {timeout: 600000, polling: 500});
    const bootMs = /** @type {number} */ (await page.evaluate('bootMs'));
    await page.evaluate('type("stty echo", "# ")');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const idle = await load(pid, 20);
    const {echo, drift, gaps, duty} = /** @type {any} */ (await page.evaluate('busy()'));
    return {bootMs, duty, gapP50: gaps.p50, gapP99: gaps.p99, echoP50: echo.p50, echoP95: echo.p95, driftMs: drift, idle};
  });
}
