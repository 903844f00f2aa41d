// Package screentest drives a program on an emulated terminal. (In the making
// by the integrating engineer: do not write this package, use it. It counts
// the commands in flight by wrapping the model, so that the model needs no
// hook for it.)
package screentest
