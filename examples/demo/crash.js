// Works well, until it meets the line on which the engine itself will crash. tools/demo.sh plays the
// engine's bug: it waits for the announcement and sends the process SIGILL, which is how the
// engine ends itself when one of its own checks fails.

globalThis.transform = line => {
  if (line.includes('/crash')) {
    console.log('about to crash');
    for (;;);
  }
  return line.toUpperCase();
};
