//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package files

// identify has nothing to go by but size and time of modification.
func (*Stamp) identify(any) {}
