// What speculation should give by its acceptance and the cost of drafting, and what it gives: the difference is the point.
const HOST_SHARE = 0.2; // of a round: from here on the host holds up the device

const hostHeavy = ({ ms }) => sum(ms) > 0 && ms[3] / sum(ms) > HOST_SHARE;

// Over the rounds that drafted; null without any. `c` is what a drafted token costs, in verify forwards.
function gainOf(timed, plain) {
  const drafted = timed.filter((row) => row.fates.length > 1);
  if (!drafted.length) return null;
  const over = (of) => sum(drafted.map(of)) / drafted.length;
  const tokens = over(emitted), drafts = over((row) => row.fates.length - 1), verify = over((row) => row.ms[1]), round = over((row) => sum(row.ms));
  if (!verify || !round) return null;
  const c = over((row) => row.ms[0]) / drafts / verify;
  const measured = plain ? (1000 * tokens) / round / plain.rate : null;
  return { tokens, drafts, c, measured, expected: tokens / (1 + drafts * c), step: plain ? verify * plain.rate / 1000 : null };
}

// For either reader.
function gainSentences(gain, plain) {
  if (!gain) return ['', ''];
  const { tokens, drafts, c, expected, measured, step } = gain;
  const hope = `Expected ${expected.toFixed(2)}×: ${tokens.toFixed(2)} tokens a round ÷ (1 + ${drafts.toFixed(1)} drafts × cost ratio c = ${c.toFixed(3)}), were a verify forward as long as a plain one.`;
  const real = () => (measured >= 1 ? `the answer comes ${measured.toFixed(1)} times as fast as without a helper` : `the answer comes at ${measured.toFixed(1)} times the speed without a helper, so it does not pay here`);
  return plain ? [
    `${hope} Real ${measured.toFixed(2)}×, against race ${plain.race}: a verify forward takes ${step.toFixed(2)} times as long as a plain token.`,
    `A step gives ${tokens.toFixed(1)} tokens. Held against race ${plain.race}, ${real()}.`,
  ] : [
    `${hope} A race measures what it really is.`,
    `A step gives ${tokens.toFixed(1)} tokens instead of one. A race shows how much faster that makes the answer.`,
  ];
}
