package files

import "os"

// OpenRooted is [OpenFolder] as it is where a system cannot read by the descriptor of a folder.
func OpenRooted(root *os.Root, dir string) (*Folder, error) {
	f, err := openRooted(root, dir)
	return f, Cause(err)
}
