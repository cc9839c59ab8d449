// Where a replay is shown: in the page's own panels, whose store has a guest meanwhile. What acts on the live session is
// out of sight for as long, by a class on the body.
function createStage() {
  const live = () => window.__draftscope;
  let guest = null;
  return {
    // `full` asks for everything, for a store that has missed something.
    enter(full) {
      guest = live().another();
      guest.serve(full);
    },
    // Whether it is what brings the replay into sight.
    take(delta) {
      guest?.ingest(delta);
      if (!guest || live().guest === guest || guest.state.e === null) return false;
      document.body.classList.add('rp-on');
      live().show(guest);
      return true;
    },
    round: () => guest?.state.rounds.at(-1)?.r ?? 0,
    leave() {
      guest = null;
      document.body.classList.remove('rp-on');
      live()?.show(null);
    },
    // The panels may stand in another tab than this one.
    bringUp() {
      const panel = document.querySelector('#panels')?.closest('[role=tabpanel]');
      const button = panel && document.querySelector(`[role=tab][aria-controls="${panel.id}"]`);
      if (button && button.getAttribute('aria-selected') !== 'true') button.click();
      window.scrollTo({ top: 0, behavior: calm.matches ? 'auto' : 'smooth' });
    },
  };
}
