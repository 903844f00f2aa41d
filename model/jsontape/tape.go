// Package jsontape reads JSON text into a flat tape of its values, without
// copying the text and without recursion, so that a 100 MB state can be walked,
// folded, compared and drawn by position.
//
// The package may not know what the JSON means: messages, snapshots and
// checkpoints are decoded elsewhere. Standard library only.
package jsontape
