// Package terminal holds the tests of the program as it is shipped, on a terminal.
package terminal
