//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package files

import "os"

func openFolder(root *os.Root, dir string) (*Folder, error) { return openRooted(root, dir) }
