// Package model holds the nouns of Hindcast and their rules: snapshots and the
// events that caused them, session records, checkpoints, timelines, plans and
// faults. It is what every other package agrees on.
//
// The package may not know where anything is stored or how it is drawn: it
// uses the standard library only, does no I/O and reads no clock.
package model
