// A conversation as a file: saved as it is, sent packed, so that a long one fits into a request.
const LARGEST_FILE = 8 * 2 ** 20, LARGEST_SENT = 1000 * 1000;

function saveAs(file) {
  const link = el('a', { href: URL.createObjectURL(new Blob([file.text], { type: file.type })), download: file.name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The file as gzip in base64; throws a sentence where that is not possible.
async function packed(file) {
  if (file.size > LARGEST_FILE) throw new Error(`The file is larger than the ${LARGEST_FILE / 2 ** 20} MiB that can be opened in the page.`);
  const stream = file.stream().pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 32768) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 32768)));
  const text = btoa(pieces.join(''));
  if (text.length > LARGEST_SENT) throw new Error('The file is too large to be sent, even packed; open a shorter conversation.');
  return text;
}
