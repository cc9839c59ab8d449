// The branches of the shown conversation: a nested list of buttons, each of which shows its branch.
function branchLine(branch, go) {
  const part = branch.current && branch.shown < branch.messages;
  const facts = [
    branch.after ? `from message ${branch.after} on` : '',
    part ? `shown up to message ${branch.shown} of ${branch.messages}` : plural(branch.messages, 'message'),
  ].filter(Boolean).join(', ');
  const whole = branch.current && !part;
  const label = whole ? `${branch.label}: the branch that is shown` : `Show the branch ${branch.label}, ${facts}`;
  return el('li', { 'data-node': String(branch.node) },
    el('button', { type: 'button', class: 'dc-branch', 'data-key': `branch-${branch.node}`, 'aria-label': label, 'aria-current': branch.current ? 'true' : null, onclick: () => { if (!whole) go(branch.node); } },
      el('span', { class: 'dc-mark', 'aria-hidden': 'true', text: branch.current ? '●' : '○' }),
      el('span', { class: 'dc-label', text: branch.label }), el('small', { text: facts + (whole ? ', shown' : '') })),
    branch.below.length ? el('ul', {}, ...branch.below.map((next) => branchLine(next, go))) : null);
}

function treeOf(branches, go) {
  const parts = [el('ul', { class: 'dc-tree', 'aria-label': 'Branches' }, ...branches.map((branch) => branchLine(branch, go)))];
  const single = branches.length === 1 && !branches[0].below.length;
  if (single) parts.push(el('p', { class: 'dm-quiet', text: 'Branch here and Edit under Go back, Regenerate and Clear begin other branches; nothing that was said is lost.' }));
  return parts;
}
