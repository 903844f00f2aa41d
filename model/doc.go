// Package model holds the nouns of Hindcast and their rules: snapshots and the events that caused them,
// session records, checkpoints, timelines, plans and faults. Every other package shares these types.
package model
