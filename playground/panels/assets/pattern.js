// The second channel beside colour: every category has a shape, painted as fine points of one heatmap, which costs no nodes.
// A shape says for a point (x, y), in pixels from the middle of a cell of w by h, whether it is inked.
const SHAPES = {
  solid: () => true,
  hatch: (x, y) => (((x + y) % 6) + 6) % 6 < 2.7,
  dot: (x, y, w, h) => x * x + y * y < (0.46 * Math.min(w, h)) ** 2,
  point: (x, y, w, h) => x * x + y * y < (0.3 * Math.min(w, h)) ** 2,
  cross: (x, y, w, h) => Math.abs(Math.abs(x) - Math.abs(y)) < 1.5 && Math.max(Math.abs(x), Math.abs(y)) < Math.min(9, Math.min(w, h) / 2),
  frame: (x, y, w, h) => Math.min(w / 2 - Math.abs(x), h / 2 - Math.abs(y)) < Math.max(1.6, Math.min(3, w / 5)),
  corners: (x, y, w, h) => Math.abs(x) > 0.2 * w && Math.abs(y) > 0.22 * h,
  dash: (x, y) => Math.abs(y) < 1.6,
  stub: (x, y, w, h) => Math.abs(y) < 0.34 * h,
  bar: (x, y, w, h) => Math.abs(y) < 0.24 * h,
  flag: (x, y, w, h) => Math.abs(y) < 0.36 * h && Math.abs(x) < 0.6 * (0.36 * h - y),
};
const POINT = 1.5; // pixels a point of a pattern covers, as long as a cell is small

// Paints `grid[row][column]` (a category or 0) with one gap point to the right of and above every cell.
function patternTrace(grid, firstX, categories, width, height) {
  const across = Math.max(3, Math.min(16, Math.round(width / POINT))), up = Math.max(4, Math.min(18, Math.round(height / POINT)));
  const plain = width < 4.5;
  const w = (width * (across - 1)) / across, h = (height * (up - 1)) / up;
  const stamps = categories.map((category) => category && Array.from({ length: up }, (_, j) => Array.from({ length: across }, (_, i) => (
    i < across - 1 && j < up - 1 && SHAPES[plain ? 'solid' : category.shape](((i + 0.5) / (across - 1) - 0.5) * w, ((j + 0.5) / (up - 1) - 0.5) * h, w, h)))));
  const z = [];
  for (const row of grid) {
    const lines = Array.from({ length: up }, () => new Array(row.length * across).fill(null));
    row.forEach((code, column) => {
      if (code) stamps[code].forEach((line, j) => line.forEach((inked, i) => { if (inked) lines[j][column * across + i] = code; }));
    });
    z.push(...lines);
  }
  return {
    type: 'heatmap', name: 'pattern', z, x0: firstX - 0.5 + 0.5 / across, dx: 1 / across, y0: 0.5 / up - 0.5, dy: 1 / up,
    ...categoryScale(categories), hoverinfo: 'skip',
  };
}

function categoryScale(categories) {
  const most = categories.length;
  const colorscale = categories.flatMap((category, i) => {
    const colour = category?.colour ?? 'rgba(0,0,0,0)';
    return [[i / most, colour], [(i + 1) / most, colour]];
  });
  return { colorscale, zmin: -0.5, zmax: most - 0.5, showscale: false };
}
