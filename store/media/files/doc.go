// Package files reads what the frameworks keep in files: the kinds of store that
// stand on a folder of JSON share it. Nothing outside of a root is ever reached,
// whatever a name is and whatever links there are; nothing is written there; no pipe
// blocks, and no file that is too large is taken in.
//
// It also remembers what was made of a file until the file changes, see [Memory],
// and from one process to the next, see [Cache]: that is all that it writes, in a
// folder of the user's own.
package files
