// Package lineage works out who follows whom among snapshots that name no
// parent, from prints of the messages that each of them holds.
//
// Snapshots come in the order in which they were saved, each as the list of its
// messages' prints ([Tree.Add]). What a message is known by is its id where it
// has one, so that a message whose text was replaced is still itself, and else
// what it says. The parent of a snapshot is
//
//   - the one whose messages are the longest beginning of its own: the last one
//     saved, if several hold the same. Equal messages (only the rest of the state
//     changed) are the longest beginning there is, and fewer messages than the
//     snapshot before has are a return to an earlier point;
//   - or, where messages were taken out at the front meanwhile, one whose
//     last messages are followed by new ones. That takes precedence if it reaches
//     further than the longest beginning. What was taken out may have been
//     replaced by one message, a summary, and messages that are pinned may have
//     stayed at the front;
//   - or, where nothing is left in common but both say how many messages were
//     taken out, the last one saved that can have come before. That is a guess.
//
// # How
//
// A message is a node that knows the one before it. A snapshot is a window over
// such a chain: the node that it ends with, how many messages it has on the
// chain, and the few at its front that are not on it. The messages that a
// snapshot adds to its parent's are new nodes behind those of the parent, so
// that the memory is that of the distinct messages and not of all lists.
//
// For the longest beginning, the hash of each beginning of the list is looked up
// among those of the whole lists before it: a hash grows by one message at a
// time, and as long as a list is the same as the one before it nothing is
// computed or looked up again. Then each message that the longest beginning
// does not reach, from the last one backwards, is looked up among those that
// windows end with. In nearly all cases there are none: the messages are new.
// Where there is one, the messages before both are compared, backwards. So all
// takes time linear in the number of messages of all lists, with a compare of
// two integers for most.
//
// What is compared is bounded, because messages without ids may all be alike:
// of the windows that end with one message the last 64 that were saved are
// looked at, and of one snapshot no more than a million messages. What is
// beyond is found by its beginning only.
//
// Prints and hashes have 64 bits. Two that were made on purpose so that they
// are equal get a line drawn wrongly.
package lineage
