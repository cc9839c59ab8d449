// The ids of this browser's own conversations, newest first: where others reach the server, it lists no others.
const OWN_KEY = 'draftscope.own', MOST_OWN = 200;

function ownIds() {
  try {
    const list = JSON.parse(window.localStorage.getItem(OWN_KEY) || '[]');
    return Array.isArray(list) ? list.filter((id) => typeof id === 'string').slice(0, MOST_OWN) : [];
  } catch (blocked) { return []; } // a frame without storage: then the list holds what is shown alone
}
function keepIds(ids) {
  try { window.localStorage.setItem(OWN_KEY, JSON.stringify(ids.slice(0, MOST_OWN))); } catch (blocked) { /* as above */ }
}
const rememberId = (id) => { if (ownIds()[0] !== id) keepIds([id, ...ownIds().filter((other) => other !== id)]); };
const forgetId = (id) => keepIds(ownIds().filter((other) => other !== id));
