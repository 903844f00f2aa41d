//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package disk

// OS is a Disk of the operating system. Use Open.
type OS = Rooted

func open(dir string) (*OS, error) { return OpenRooted(dir) }
