// What each panel shows, for a reader who is new to all of this. The panels' own sentences are for who knows the field.
const PLAIN = {
  fate: 'Each column is one step of the model. A quick helper guesses the next few words; blue guesses were right and came for free, striped ones were wrong and thrown away. The top mark is the one token the model always adds itself.',
  length: 'How much of the conversation the model has read and written so far, in tokens (pieces of words). A line that drops means that we went back.',
  acceptance: 'How often the first guess was right, the second, and so on. Later guesses build on earlier ones, so they are right less often.',
  pending: 'The model’s newest token waits for the next step, which reads it along with the new guesses. This shows where it waited, and where it was carried over a pause.',
  speed: 'How long each step took: guessing, checking the guesses, deciding, and the rest. The line is how many tokens came out a second.',
  overshoot: 'Tokens that were already worked out when the answer had to end. They are kept aside in case you continue.',
  counters: 'A sampled answer rolls dice. Every roll has a number, and no number is ever used again, so an answer can be repeated exactly.',
  memory: 'What the model keeps in memory of this conversation, and how much room is left.',
};
