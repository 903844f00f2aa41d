// Package lineage works out who follows whom among snapshots that name no
// parent, from prints of the messages that each of them holds.
//
// The package may not know where the messages come from, nor how a snapshot is
// kept: it is given prints, and gives positions.
package lineage
