// Where the states and the moves between them stand in the drawing of the pending carry, side by side or one below the other.
// A node is [x, y, width, height] from its middle; a way is the four points of a curve and where its words begin.
const STATE_WAYS = [
  { from: 'FRESH', to: 'PENDING', moves: ['turn'] },
  { from: 'PENDING', to: 'PENDING', moves: ['carry', 'consume', 'flush', 'round'] },
  { from: 'PENDING', to: 'PREDICTED', moves: ['flush', 'drop', 'trim'] },
  { from: 'PREDICTED', to: 'PENDING', moves: ['promote', 'turn', 'unpark'] },
  { from: 'PREDICTED', to: 'PREDICTED', moves: ['rewind'] },
];
// Those that are drawn only once they were gone.
const RARE_WAYS = [
  { from: 'PENDING', to: 'FRESH', moves: ['drop'] },
  { from: 'PREDICTED', to: 'FRESH', moves: ['rewind'] },
  { from: 'PENDING', to: 'FAILED', moves: ['error'] },
  { from: 'PREDICTED', to: 'FAILED', moves: ['error'] },
  { from: 'FAILED', to: 'PENDING', moves: ['reprime'] },
  { from: 'FAILED', to: 'PREDICTED', moves: ['drop', 'rewind', 'reprime'] },
];
const MOVE_NOTES = {
  turn: 'a message was read and its first token emitted', round: 'a verify round took the pending token as column 0 and left the next one', trim: 'a round’s tokens past the budget were let go at once',
  ...TRANSITION_NOTES, rewind: 'back to a rewind point', unpark: 'a flushed token is carried again', error: 'an error left the caches in doubt', reprime: 'the caches were computed again', jump: 'the state changed without a move',
};
const WIDE_MAP = {
  size: [640, 262],
  nodes: { FRESH: [64, 128, 96, 40], PENDING: [312, 128, 168, 52], PREDICTED: [560, 128, 140, 44], FAILED: [312, 226, 96, 34] },
  ways: {
    'FRESH>PENDING': { curve: [112, 128, 150, 128, 190, 128, 226, 128], words: [168, 116, 'middle'] },
    'PENDING>PENDING': { curve: [272, 102, 238, 36, 386, 36, 352, 102], words: [312, 22, 'middle'], line: true },
    'PENDING>PREDICTED': { curve: [396, 116, 430, 94, 458, 94, 490, 116], words: [443, 62, 'middle'] },
    'PREDICTED>PENDING': { curve: [490, 142, 458, 166, 430, 166, 397, 142], words: [443, 178, 'middle'] },
    'PREDICTED>PREDICTED': { curve: [538, 106, 516, 48, 604, 48, 582, 106], words: [560, 50, 'middle'] },
    'PENDING>FRESH': { curve: [228, 142, 190, 168, 140, 168, 100, 148], words: [168, 178, 'middle'] },
    'PREDICTED>FRESH': { curve: [590, 150, 590, 290, 64, 290, 64, 150], words: [180, 258, 'middle'], line: true },
    'PENDING>FAILED': { curve: [296, 154, 296, 168, 296, 190, 296, 208], words: [290, 186, 'end'] },
    'PREDICTED>FAILED': { curve: [530, 150, 500, 200, 420, 218, 362, 222], words: [520, 206, 'middle'] },
    'FAILED>PENDING': { curve: [328, 209, 328, 190, 328, 172, 328, 156], words: [334, 186, 'start'] },
    'FAILED>PREDICTED': { curve: [360, 232, 440, 240, 550, 220, 566, 152], words: [440, 250, 'middle'], line: true },
  },
};
const TALL_MAP = {
  size: [330, 376],
  nodes: { FRESH: [100, 22, 96, 34], PENDING: [100, 128, 156, 50], PREDICTED: [100, 258, 140, 44], FAILED: [100, 354, 96, 34] },
  ways: {
    'FRESH>PENDING': { curve: [100, 39, 100, 60, 100, 80, 100, 101], words: [110, 72, 'start'] },
    'PENDING>PENDING': { curve: [176, 114, 236, 74, 236, 182, 176, 142], words: [230, 108, 'start'] },
    'PENDING>PREDICTED': { curve: [88, 154, 72, 180, 72, 206, 86, 234], words: [62, 184, 'end'] },
    'PREDICTED>PENDING': { curve: [114, 236, 132, 210, 132, 182, 116, 156], words: [138, 184, 'start'] },
    'PREDICTED>PREDICTED': { curve: [168, 246, 222, 218, 222, 298, 168, 270], words: [216, 262, 'start'] },
    'PENDING>FRESH': { curve: [60, 102, 48, 84, 50, 60, 70, 41], words: [42, 78, 'end'] },
    'PREDICTED>FRESH': { curve: [170, 258, 340, 240, 330, 30, 150, 22], words: [240, 36, 'start'] },
    'PENDING>FAILED': { curve: [30, 150, 0, 220, 0, 320, 54, 346], words: [0, 222, 'start'] },
    'PREDICTED>FAILED': { curve: [92, 280, 92, 300, 92, 316, 92, 335], words: [84, 314, 'end'] },
    'FAILED>PENDING': { curve: [148, 350, 310, 330, 310, 190, 170, 150], words: [262, 330, 'start'] },
    'FAILED>PREDICTED': { curve: [112, 336, 112, 318, 112, 300, 112, 282], words: [120, 314, 'start'] },
  },
};
