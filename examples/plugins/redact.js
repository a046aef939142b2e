// Takes secrets out of log lines, before they leave the machine.
//
//   halter run --text redact.js < redact.in.log
//
// A pattern is only as good as its tests: redact.in.log and redact.out.log are this one's.

const rules = [
  // name=value and name: value, where the name says that the value is a secret
  [/\b(pass(?:word|wd)?|secret|token|api[-_]?key)(["']?\s*[=:]\s*["']?)[^\s"',;&]+/gi, '$1$2[secret]'],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/-]+=*/g, '$1 [secret]'],
  [/\bAKIA[0-9A-Z]{16}\b/g, '[aws key]'],
  [/\bgh[pousr]_[A-Za-z0-9]{36,}\b/g, '[github token]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '[jwt]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/:@]+:[^\s/@]+@/gi, '$1[user]:[secret]@'],
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, '[email]'],
];

/** Whether the digits are a card number: Luhn's check keeps order numbers and the like. */
function isCard(digits) {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i]);
    if (i % 2 === 1 && (digit *= 2) > 9) digit -= 9;
    sum += digit;
  }
  return sum % 10 === 0;
}

globalThis.transform = line => {
  for (const [pattern, replacement] of rules) line = line.replace(pattern, replacement);
  return line.replace(/\b\d(?:[ -]?\d){12,18}\b/g,
    number => isCard(number.replace(/\D/g, '')) ? '[card]' : number);
};
