// Saving a panel: its picture as PNG, on the page's own background and with its key, and its data as JSON.
const PICTURE_SCALE = 2, PICTURE_PAD = 14, CHIP = 14;

// `panel` has: name, title, data() -> an object for JSON, picture(colours) -> what to draw, see `drawPicture`.
function createSaveMenu(panel) {
  const said = el('p', { class: 'ds-said', 'aria-live': 'polite' });
  const run = async (kind, make) => {
    const file = `draftscope-${panel.name}-round-${store.state.rounds.at(-1)?.r ?? 0}.${kind}`;
    try {
      saveFile(file, await make());
      setText(said, `Saved as ${file}.`);
    } catch (error) {
      setText(said, `The ${kind.toUpperCase()} could not be made; draw the panel at another size and try again.`);
    }
  };
  const item = (text, kind, make) => el('button', { type: 'button', class: 'ds-item', 'data-save': kind, text, onclick: () => run(kind, make) });
  const node = el('details', { class: 'ds-save' }, el('summary', { class: 'ds-button', 'aria-label': `Save ${panel.title}`, text: 'Save' }),
    el('div', { class: 'ds-menu' },
      item('Picture (PNG)', 'png', () => pictureOf(panel)),
      item('Data (JSON)', 'json', () => new Blob([`${JSON.stringify(panel.data(), null, 1)}\n`], { type: 'application/json' })), said));
  node.addEventListener('toggle', () => { if (node.open) setText(said, ''); });
  node.addEventListener('focusout', (event) => { if (!node.contains(event.relatedTarget)) node.open = false; });
  node.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !node.open) return;
    node.open = false;
    node.firstChild.focus();
  });
  return node;
}

function saveFile(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = el('a', { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// The title, one sentence, the drawings one below the other, and the key, on a canvas of the page's colour.
async function pictureOf(panel) {
  const { colours, width, says, drawings, key } = await panel.picture();
  const images = await Promise.all(drawings.map(async (drawing) => ({ ...drawing, image: await loadImage(drawing.url) })));
  const canvas = document.createElement('canvas');
  const pen = canvas.getContext('2d');
  const inner = width - 2 * PICTURE_PAD;
  const setFont = (weight, size) => { pen.font = `${weight} ${size}px ${colours.font}`; };
  setFont(400, 12.5);
  const lines = wrapped(pen, says, inner), chips = placedChips(pen, key, inner);
  const top = PICTURE_PAD + 22 + 17 * lines.length + 6;
  const height = top + sum(images.map((image) => image.height)) + (chips.length ? chips.at(-1).y + 30 : PICTURE_PAD);
  canvas.width = width * PICTURE_SCALE;
  canvas.height = height * PICTURE_SCALE;
  pen.scale(PICTURE_SCALE, PICTURE_SCALE);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, width, height);
  pen.fillStyle = colours.text;
  pen.textBaseline = 'top';
  setFont(650, 15);
  pen.fillText(panel.title, PICTURE_PAD, PICTURE_PAD);
  setFont(400, 12.5);
  lines.forEach((line, i) => pen.fillText(line, PICTURE_PAD, PICTURE_PAD + 22 + 17 * i));
  let at = top;
  for (const { image, width: wide, height: tall } of images) {
    pen.drawImage(image, (width - wide) / 2, at, wide, tall);
    at += tall;
  }
  for (const chip of chips) drawChip(pen, chip, PICTURE_PAD + chip.x, at + 6 + chip.y, colours);
  return new Promise((resolve, reject) => { canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('too large'))), 'image/png'); });
}

function loadImage(url) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error('not an image'));
    image.src = url;
  });
}

function wrapped(pen, text, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && pen.measureText(longer).width > width) lines.push(word); else lines[lines.length - 1] = longer;
  }
  return lines;
}

// Where each entry of a key stands, row after row.
function placedChips(pen, key, width) {
  let x = 0, y = 0;
  return key.map((entry) => {
    const wide = CHIP + 6 + pen.measureText(entry.name).width + 16;
    if (x && x + wide > width) { x = 0; y += 20; }
    const placed = { ...entry, x, y };
    x += wide;
    return placed;
  });
}

// With the shape of its pattern, so that a picture keeps the second channel.
function drawChip(pen, { name, shape, colour }, x, y, colours) {
  pen.fillStyle = colour;
  for (let i = 0.25; i < CHIP; i += 0.5) {
    for (let j = 0.25; j < CHIP; j += 0.5) {
      if (SHAPES[shape](i - CHIP / 2, j - CHIP / 2, CHIP, CHIP)) pen.fillRect(x + i - 0.25, y + j - 0.25, 0.5, 0.5);
    }
  }
  pen.fillStyle = colours.text;
  pen.fillText(name, x + CHIP + 6, y + 1);
}
