// Package query answers questions about time from the port alone, so that every kind of
// store has them: data out, no colour, no width.
package query
