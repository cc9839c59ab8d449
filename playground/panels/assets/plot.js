// A Plotly chart that keeps what the user did to it: constant uirevision, no redraw under a pressed pointer.
const HOVER_FONT = 12;

function whenPlotly(then) {
  const have = () => window.Plotly?.react;
  if (have()) { then(window.Plotly); return; }
  const timer = setInterval(() => { if (have()) { clearInterval(timer); then(window.Plotly); } }, 100);
}

function createPlot(host, height) {
  const plot = { ready: false, held: false, draw: () => {}, on: () => {}, dispose: () => {}, marks: () => [] }; // marks: shapes over all others
  host.style.height = `${height}px`;
  host.addEventListener('pointerdown', () => { plot.held = true; });
  const release = () => { if (plot.held) { plot.held = false; setTimeout(clock.redraw, 350); } };
  window.addEventListener('pointerup', release);
  window.addEventListener('pointercancel', release);
  const resize = new ResizeObserver(() => clock.redraw());
  resize.observe(host);
  let library = null;
  const handlers = [];
  whenPlotly((P) => { library = P; plot.ready = true; clock.redraw(); });

  plot.on = (name, handler) => handlers.push([name, handler]);
  plot.draw = (traces, layout, colours) => {
    if (!library || plot.held || host.clientWidth < 60) return false;
    const fresh = !host._fullLayout;
    const shapes = [...(layout.shapes ?? []), ...plot.marks(colours)];
    library.react(host, traces, baseLayout({ ...layout, shapes }, host.clientWidth, height, colours), PLOT_CONFIG);
    if (fresh) for (const [name, handler] of handlers) host.on(name, handler);
    return true;
  };
  // The chart as it is shown, without a background: `save.js` gives it one. Null before anything was drawn.
  plot.picture = async () => {
    if (!host._fullLayout) return null;
    const { width } = host._fullLayout;
    return { url: await library.toImage(host, { format: 'png', width, height, scale: PICTURE_SCALE }), width, height };
  };
  plot.dispose = () => {
    resize.disconnect();
    window.removeEventListener('pointerup', release);
    window.removeEventListener('pointercancel', release);
    if (host._fullLayout) library?.purge(host);
  };
  return plot;
}

const PLOT_CONFIG = {
  displaylogo: false, doubleClick: false, responsive: false, displayModeBar: 'hover',
  modeBarButtons: [['zoom2d', 'pan2d', 'zoomIn2d', 'zoomOut2d', 'autoScale2d']],
};

function axis(colours, more) {
  return {
    zeroline: false, gridcolor: colours.grid, linecolor: colours.grid, tickcolor: colours.grid,
    automargin: false, ...more, title: { standoff: 8, ...more.title },
  };
}

function baseLayout(layout, width, height, colours) {
  return {
    width, height, showlegend: false, hovermode: 'closest', uirevision: 'keep', dragmode: 'zoom',
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: colours.font, size: 12, color: colours.text },
    hoverlabel: { align: 'left', bgcolor: colours.paper, bordercolor: colours.line, font: { size: HOVER_FONT, color: colours.text, family: colours.font } },
    modebar: { bgcolor: 'rgba(0,0,0,0)', color: colours.idle, activecolor: colours.text, orientation: 'h' },
    ...layout,
    margin: { l: 62, r: 14, t: 10, b: 38, ...layout.margin },
    xaxis: axis(colours, layout.xaxis), yaxis: axis(colours, layout.yaxis),
  };
}

// Plotly reports a zoom under several names; null means "back to everything".
function zoomOf(change, name = 'xaxis') {
  if (change[`${name}.autorange`]) return null;
  const range = change[`${name}.range`] ?? [change[`${name}.range[0]`], change[`${name}.range[1]`]];
  return range[0] === undefined ? undefined : [Number(range[0]), Number(range[1])];
}
