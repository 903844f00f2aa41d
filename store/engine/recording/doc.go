// Package recording holds what stores share that record visits: the visits that a restore moves, the plan in
// words, a session taken over from another store, the numbers of imported rows, and the checks of saved data.
package recording
