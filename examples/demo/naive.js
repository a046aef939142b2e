// Marks the lines of programs whose name is made of words. The pattern looks harmless, and on every
// line of the log but one it is. On that one its nested repetition tries every way to cut the text
// into words, and there are more of them than the universe will see seconds.

const words = /^([\w.]+\s?)*$/;

globalThis.transform = line => {
  const agent = line.slice(line.lastIndexOf('"', line.length - 2) + 1, -1);
  return (words.test(agent.replace(/[/;:()+]/g, ' ').replace(/ +/g, ' ')) ? 'P ' : '- ') + line;
};
