// A file's way to the server: compressed if it is not, and in pieces, since no request may be large.
const LARGEST_PLAIN = 64 * 2 ** 20, WORTH_PACKING = 2 ** 18;

async function packed(file) {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = start[0] === 0x1f && start[1] === 0x8b;
  if (!isPacked && file.size > LARGEST_PLAIN) throw new Sentence(`The file has ${file.size.toLocaleString('en')} bytes, but a trace has at most ${LARGEST_PLAIN.toLocaleString('en')}.`);
  if (isPacked || file.size < WORTH_PACKING || !window.CompressionStream) return file;
  return new Response(file.stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

class Sentence extends Error {} // one to show as it is

function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(new Sentence('The file cannot be read (any more); choose it again.'));
    reader.readAsDataURL(blob);
  });
}

// Resolves with what the server says of the open trace. `tell(share)` hears how much has arrived, null while it is read there.
async function upload(file, ask, tell) {
  let data;
  try {
    data = await packed(file);
  } catch (error) {
    throw error instanceof Sentence ? error : new Sentence('The file cannot be read; choose it again.');
  }
  const { upload: name, piece } = await ask({ do: 'begin', size: data.size });
  for (let number = 0; number * piece < data.size; number += 1) {
    tell((number * piece) / data.size);
    await ask({ do: 'piece', upload: name, number, data: await base64(data.slice(number * piece, (number + 1) * piece)) });
  }
  tell(null);
  return ask({ do: 'open', upload: name });
}
