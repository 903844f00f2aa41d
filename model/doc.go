// Package model holds the nouns of Hindcast and their rules: snapshots and the
// events that caused them, session records, checkpoints, timelines, plans and
// faults. It is what every other package agrees on.
package model
